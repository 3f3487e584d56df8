/** Template of a research report for pdflatex. All values are escaped before it sees them: see `template.ts`. */

/** What reports and plans load, and how they are set. */
export const PREAMBLE = String.raw`\documentclass[11pt]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{textcomp}
\usepackage{amssymb}
\usepackage{lmodern}
\usepackage{microtype}
\usepackage[margin=1in]{geometry}
\usepackage{array}
\usepackage{booktabs}
\usepackage{longtable}
\usepackage{enumitem}
\usepackage{natbib}
\usepackage{xurl}
\usepackage[hidelinks,unicode]{hyperref}

\hypersetup{pdftitle={<< title >>}}
% The same source gives the same file.
\pdfinfoomitdate=1
\pdftrailerid{}
\pdfsuppressptexinfo=-1

\urlstyle{same}
% No line ends behind the colon of https.
\renewcommand{\UrlBigBreaks}{}
\setcitestyle{authoryear,round,semicolon}
\renewcommand{\bibfont}{\small\raggedright}
\setlength{\emergencystretch}{3em}
% Headings of paragraphs, of which a finding has several, stand close together.
\makeatletter
\renewcommand{\paragraph}{\@startsection{paragraph}{4}{\z@}{1.2ex plus 0.4ex minus 0.2ex}{-1em}{\normalfont\normalsize\bfseries}}
\makeatother
\setlength{\bibsep}{0.5ex plus 0.2ex}
\setlist{itemsep=0.25ex, parsep=0.25ex, topsep=0.5ex}
\setlength{\LTpre}{1ex}
\setlength{\LTpost}{1ex}
\renewcommand{\arraystretch}{1.15}
\newcolumntype{L}[1]{>{\raggedright\arraybackslash\hspace{0pt}}p{#1}}
\renewcommand{\today}{<< date >>}
`;

export const REPORT_TEMPLATE = String.raw`${PREAMBLE}
\title{<< title >>}
\author{Research Report --- Generated via Autonomous Workflow}
\date{\today}

\begin{document}
\maketitle
\tableofcontents

\section{Executive Summary}

<< executiveSummary >>

\section{Background \& Context}

<< background >>

\section{Key Findings}
<% for finding in findings %>

<< finding.comment >>\subsection{Finding << loop.index >>: << finding.title >>}
\label{finding:<< finding.id >>}

\paragraph{Claim.} << finding.claim >>
<% if finding.evidence.length > 0 %>

\paragraph{Evidence.} \leavevmode
\begin{itemize}
<% for evidence in finding.evidence %>
\item \textquotedblleft{}<< evidence.quote >>\textquotedblright{} << evidence.citation >>
<% endfor %>
\end{itemize}
<% endif %>

\paragraph{Sources.} \leavevmode
\begin{itemize}
<% for source in finding.sources %>
\item << source.citation >>, << source.title >> Credibility << source.credibility >>: << source.reason >>
<% endfor %>
\end{itemize}

\paragraph{Confidence.} << finding.confidence >>: << finding.confidenceReason >>
<% if finding.caveats.length > 0 %>

\paragraph{Caveats.} \leavevmode
\begin{itemize}
<% for caveat in finding.caveats %>
\item << caveat >>
<% endfor %>
\end{itemize}
<% endif %>
<% else %>

No finding.
<% endfor %>

\section{Analysis \& Synthesis}

<< analysis >>
<% if resolved.length > 0 %>

\subsection{Conflicts between sources}
<% for conflict in resolved %>

\paragraph{<< conflict.question >>} The sources contradict each other:
\begin{itemize}
<% for position in conflict.positions %>
<< position.comment >>\item << position.statement >>
<% endfor %>
\end{itemize}
\noindent\textit{Resolution.} << conflict.resolution >>
<% endfor %>
<% endif %>

\section{Open Questions}
<% for conflict in unresolved %>

\paragraph{<< conflict.question >>} The sources contradict each other, and what is known does not decide between them:
\begin{itemize}
<% for position in conflict.positions %>
<< position.comment >>\item << position.statement >>
<% endfor %>
\end{itemize}
<% endfor %>
<% for question in openQuestions %>

\paragraph{<< question.question >>} << question.detail >>
<% endfor %>
<% if unresolved.length == 0 and openQuestions.length == 0 %>

None.
<% endif %>

\section{Methodology}

<< methodology >>

\begin{center}
\begin{tabular}{lr}
\toprule
<% for figure in figures %>
<< figure.name >> & << figure.value >> \\
<% endfor %>
\bottomrule
\end{tabular}
\end{center}

\paragraph{Credibility of sources.} << credibilityCriteria >>

\bibliographystyle{plainnat}
\bibliography{sources}

\appendix

\section{Sources}
<% if sources.length > 0 %>

Each source was fetched and stored when the report was made. The hash is the begin of the SHA-256 of the
stored content.

{\footnotesize
\begin{longtable}{@{}L{0.56\textwidth}lll@{}}
\toprule
Address & Hash & Fetched & Credibility \\
\midrule
\endhead
\bottomrule
\endfoot
<% for source in sources %>
<< source.address >> & << source.hash >> & << source.fetchedOn >> & << source.credibility >> \\
<% endfor %>
\end{longtable}}
<% else %>

None.
<% endif %>

\section{Left out}
<% if leftOut.length > 0 %>

These citations were rejected. Nothing in this report rests on them.

{\footnotesize
\begin{longtable}{@{}L{0.36\textwidth}L{0.3\textwidth}L{0.26\textwidth}@{}}
\toprule
Claim & Address & Reason \\
\midrule
\endhead
\bottomrule
\endfoot
<% for citation in leftOut %>
<< citation.claim >> & << citation.address >> & << citation.reason >> \\
<% endfor %>
\end{longtable}}
<% else %>

None.
<% endif %>

\end{document}
`;
