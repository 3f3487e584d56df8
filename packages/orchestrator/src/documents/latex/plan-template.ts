/** Template of an implementation plan for pdflatex. All values are escaped before it sees them: see `template.ts`. */
import { PREAMBLE } from './report-template.ts';

export const PLAN_TEMPLATE = String.raw`${PREAMBLE}
\title{<< title >>}
\author{Generated via Autonomous Workflow}
\date{\today}

\begin{document}
\maketitle
\tableofcontents

\section{Vision \& Objectives}

<< vision >>

\section{Architecture Overview}

<< architecture >>

\section{Component Design}
<% for component in components %>

\subsection{Component << loop.index >>: << component.name >>}
\label{component:<< loop.index >>}

\begin{description}[style=nextline, leftmargin=1.5em]
\item[Purpose] << component.purpose >>
\item[Interfaces] << component.interfaces >>
\item[Dependencies] << component.dependencies >>
\item[Implementation approach] << component.approach >>
\end{description}
<% else %>

None.
<% endfor %>

\section{Technology Stack}

<< technologyStack >>

\section{Defensibility Analysis}

<< defensibility >>

\section{Risk Assessment}
<% if risks.length > 0 %>

{\small
\begin{longtable}{@{}L{0.34\textwidth}L{0.1\textwidth}L{0.1\textwidth}L{0.36\textwidth}@{}}
\toprule
Risk & Likelihood & Impact & Mitigation \\
\midrule
\endhead
\bottomrule
\endfoot
<% for risk in risks %>
<< risk.risk >> & << risk.likelihood >> & << risk.impact >> & << risk.mitigation >> \\
<% endfor %>
\end{longtable}}
<% else %>

None.
<% endif %>

\section{Implementation Sequence}
<% if steps.length > 0 %>

Each step stands behind the steps that it depends on.

\begin{enumerate}
<% for step in steps %>
\item \label{step:<< loop.index >>}\textbf{<< step.title >>}<< step.after >> \\
<< step.description >>
<% endfor %>
\end{enumerate}
<% else %>

None.
<% endif %>

\section{Open Design Decisions}
<% for decision in openDecisions %>

\paragraph{<< decision.decision >>} << decision.detail >>
<% else %>

None.
<% endfor %>
<% if cites %>

\bibliographystyle{plainnat}
\bibliography{sources}
<% endif %>

\end{document}
`;
