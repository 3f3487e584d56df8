/** Words and phrases that deny a statement, in one list for opposites and for reservations. */

/** Deny the word behind them. */
export const NEGATION =
  /^(?:not|no|never|none|nor|neither|nobody|nothing|nowhere|without|cannot|hardly|scarcely|lacks?|lacked|lacking|\p{L}+n't)$/u;

/** Deny something by themselves; a claim with one of them is no plain statement. */
export const DENIAL =
  /^(?:den(?:y|ies|ied|ying)|fail\p{L}*|reject\p{L}*|dismiss\p{L}*|refut\p{L}*|dispro\p{L}*|debunk\p{L}*|discredit\p{L}*|contradict\p{L}*|retract\p{L}*|doubt\p{L}*|disput\p{L}*|fals(?:e|ely|ehoods?)|untrue|wrong(?:ly)?|mistaken\p{L}*|erroneous\p{L}*|incorrect\p{L}*|inaccura\p{L}*|myths?|hoax\p{L}*|misconceptions?|fallac\p{L}*|fiction\p{L}*|nonsense|rumou?r\p{L}*|baseless|un(?:founded|confirmed|proven)|fabricat\p{L}*|bestr[ei]\p{L}*|leugne\p{L}*|dementier\p{L}*|falsch|unwahr)$/u;

/** A sentence with one of these says that what it is about is not so, or is not known. */
export const OF_SENTENCE =
  /^(?:baseless|unfounded|debunked|discredited|unproven|hoax|disputed|unconfirmed|fabricated|retracted)$/;
/** Predicates that deny the subject before them. */
export const OF_SUBJECT =
  /^(?:is|are|was|were) (?:(?:an?|simply|just|entirely|completely) )?(?:myths?|hoax|lies?|nonsense|fiction|misconceptions?|fallacy)(?= |$)/;
/** The same, only in a clause with `that`: "the option is false" denies nothing. */
export const OF_STATEMENT =
  /^(?:not true|(?:is|are|was|were) (?:(?:simply|just|entirely|completely) )?(?:false|untrue|incorrect|wrong))(?= |$)/;
const SAYS =
  '(?:claim|assert|believ|stat|say|said|report|suggest|impl|assum|think|thought|suppos|argu|maintain|insist)\\p{L}*';
const STATEMENT =
  '(?:claim|idea|notion|theor|hypothes|report|allegation|suggestion|accusation|belief|rumou?r|assertion|view|statement|possibilit|behauptung|annahme)\\p{L}*';
const UP_TO_THREE = '(?:[\\p{L}\\p{N}]+ ){0,3}';
const PROOF = '(?:evidence|proof|indications?|signs?|results?|findings?|conclusions?)';
/** Stand before `that` and a claim. */
// oxlint-disable-next-line autonomous/linear-expressions -- begins at one place and takes a few words
export const CLAIM_NOUN = new RegExp(`^(?:${STATEMENT}|${PROOF})$`, 'u');
const NOT_SO =
  '(?:false|untrue|incorrect|wrong|bogus|fake|forged|baseless|misleading|unproven|fabricated|retracted|withdrawn|debunked|refuted|disproved|disproven|overturned|discredited|falsche?|unwahre?|erfunden|widerlegte?)';
const ADVERB = '(?:(?:simply|just|entirely|completely|since|later|largely|long|schlicht|einfach|längst|frei) )?';

/** Deny the claim before them, as `is bogus` behind `the claim that …`. */
// oxlint-disable-next-line autonomous/linear-expressions -- begins at one place and takes a few words
export const OF_CLAIM = new RegExp(
  `^(?:(?:is|are|was|were|(?:has|have|had) (?:\\p{L}+ )?been|ist|sind|war|waren|wurden?) ${ADVERB}${NOT_SO}|(?:turned out|proved)(?: to be)? ${NOT_SO}|remain(?:s|ed)? ${NOT_SO}|(?:has|have|had) no (?:basis|foundation|merit)|(?:is|are|was|were) ${ADVERB}not (?:so|true|correct|the case)|(?:ist|war) ein (?:mythos|irrtum|märchen)|stimmt nicht|trifft nicht zu)(?= |$)`,
  'u',
);
/** Deny what stands before a comma, semicolon or dash: `…, which is false`, `…; that is not so`, `… — a myth`. */
// oxlint-disable-next-line autonomous/linear-expressions -- begins at one place and takes a few words
export const OF_BEFORE = new RegExp(
  `^(?:(?:which|this|that|das|dies|was) ${UP_TO_THREE}(?:not (?:so|true|correct|the case)|${NOT_SO}|an? (?:myth|lie|hoax|misconception)|ein (?:mythos|irrtum|märchen)|stimmt nicht)$|an? (?:[\\p{L}]+ )?(?:myth|lie|hoax|misconception)$|an? (?:claim|statement|belief|rumou?r|idea|theory) ${UP_TO_THREE}(?:refuted|debunked|disproved|discredited|false|wrong)$|${UP_TO_THREE}(?:falsely|wrongly|mistakenly) (?:said|says?|claim(?:s|ed)?|wrote|writes?|reported|believed?)$)`,
  'u',
);
/** Deny as a label before a colon: `Myth 3: …`, `Common myths: …`, `The following claims are false: …`. */
// oxlint-disable-next-line autonomous/linear-expressions -- begins at one place and takes a few words
export const LABEL = new RegExp(
  `^(?:(?:fact ?check )?(?:${NOT_SO}|hoax|rumou?r|fiction)|(?:(?!(?:of|about|behind) )\\p{L}+ ){0,3}(?:myths?|misconceptions?|hoaxes|rumou?rs|falsehoods?|fallac(?:y|ies)|(?:mis|dis)information|fake news|conspirac(?:y|ies)(?: theor(?:y|ies))?|myth(?:os|en)|irrt(?:um|ümer)|märchen|gerüchte?|falschmeldung(?:en)?)|${UP_TO_THREE}${NOT_SO} (?:claims?|statements?|beliefs?|reports?|ideas?|behauptung(?:en)?|aussagen?)|${UP_TO_THREE}(?:claims?|statements?|beliefs?|following|these|behauptung(?:en)?|aussagen?) (?:\\p{L}+ )?(?:are|is|sind|ist|were|was) (?:\\p{L}+ )?${NOT_SO})(?: \\d+)?$`,
  'u',
);
const VERDICT = `(?:(?:mostly|largely|completely|probably) )?(?:${NOT_SO}|not (?:true|so|correct|proven|supported)|unsupported|unfounded|inaccurate|pants on fire|myth|hoax|mythos|irrtum)`;
const CROSS = '[❌✗✘✖🚫]';
/** Stands beside a claim that is not so, or begins its sentence. */
// oxlint-disable-next-line autonomous/linear-expressions -- one sign, and one run to the end
export const CROSSED = new RegExp(`^${CROSS}[^.!?]*$|${CROSS}$`, 'u');
/** A cell of a table about claims that says that the claim of its row is not so. */
// oxlint-disable-next-line autonomous/linear-expressions -- begins at one place and takes a few words
export const FALSE_CELL = new RegExp(
  `^(?:${CROSS}|${VERDICT}(?:$|[^\\p{L}\\p{N} ]| (?:[^\\p{L}\\p{N}]|(?:by|in|since|because|as)(?!\\p{L}))))`,
  'iu',
);
/** The sentence behind a claim that says that it is not so: `Verdict: false.` */
// oxlint-disable-next-line autonomous/linear-expressions -- begins at one place and takes a few words
export const BEHIND_CLAIM = new RegExp(
  `^[ .!?"')]*(?:(?:\\p{L}+ )?(?:verdict|rating|ruling|status|answer|conclusion|assessment|fact ?check|urteil|bewertung|fazit|antwort)[: ]+${VERDICT}(?!\\p{L})|(?:(?:this|that|it) (?:\\p{L}+ )?(?:is|was)|we rate (?:this|it)(?: as)?) ${VERDICT}(?=[.!]|$))`,
  'iu',
);
/** The same without a label: `False.` */
// oxlint-disable-next-line autonomous/linear-expressions -- begins at one place and takes a few words
export const FALSE_SENTENCE = new RegExp(`^[ .!?"')]*${VERDICT}(?=[.!]|$)`, 'iu');
/** Heads of the columns of a table that has claims, and of its verdicts. */
export const CLAIM_HEAD =
  /\b(?:claims?|statements?|assertions?|myths?|beliefs?|rumou?rs?|aussagen?|behauptung(?:en)?|myth(?:os|en))\b/i;
export const VERDICT_HEAD = /\b(?:verdict|rating|ruling|urteil|bewertung)\b/i;

/** True for `No` below `True?`, and for a mark below `False`. */
export function isFalseAs(head: string, cell: string): boolean {
  if (/^(?:true|correct|proven|supported|wahr|richtig)\b/i.test(head)) return /^(?:no|nein)\b/i.test(cell);
  return FALSE_CELL.test(head) && /^(?:x|yes|ja|[✓✔✅])/i.test(cell);
}

const NOT =
  "(?:not|no|never|none|nor|neither|nobody|nothing|cannot|hardly|scarcely|few|\\p{L}+n't)(?! (?:only|just|merely|until|(?:\\p{L}+ ){0,2}(?:doubt|den(?:y|ie)|refut|disput|disprov)))";

/** Phrases that deny, or put in doubt, the clause that follows them. Words are in lower case, with one space between them. */
// oxlint-disable-next-line autonomous/linear-expressions -- begins at one place and takes at most eight words
export const OF_CLAUSE = new RegExp(
  `^(?:${[
    'whether|fail(?:ed|s|ing)? to|den(?:y|ies|ied|ying)|hypothesi[sz]e[sd]?|speculate[sd]?|untrue|ruled out|rather than|instead of|as (?:if|though)|not because',
    `ruled out (?:${UP_TO_THREE}${STATEMENT} )?that`,
    '(?:no|zero|little|scant|insufficient) (?:\\p{L}+ ){0,2}(?:evidence|proof|indications?|sign)',
    `(?:absence|lack) of (?:\\p{L}+ )?${PROOF} that`,
    'not (?:true|the case)',
    '(?:far from|anything but) (?:certain|clear|true|proven|established|obvious|settled|sure)',
    `(?:contrary to|despite|g[ia]ven? up|doubts? (?:on|about|over)) ${UP_TO_THREE}${STATEMENT} that`,
    'lied(?: when \\p{L}+ \\p{L}+)?(?: that)?',
    `(?:hoax|rumou?r|forgery|satire|conspiracy theory) (?:${SAYS}|wrote|has it)`,
    'yet to (?:see|show|prove|find|confirm|establish|demonstrate) (?:\\p{L}+ ){0,3}that',
    `(?:stop(?:ped)?|short of|banned from|barred from|fined for) ${SAYS} that`,
    `(?:against|counter to) (?:the )?(?:\\p{L}+ )?${STATEMENT} that`,
    'without (?:\\p{L}+ )?(?:show|prov|demonstrat|establish|confirm)ing that',
    '(?:once|long|formerly|previously|until \\p{N}+ it was) (?:thought|believed|taught|assumed)|used to (?:think|believe|assume)',
    '(?:little|no|scant) reason to (?:think|believe|assume|suppose)',
    '(?:no|not) (?:an?|one) (?:\\p{L}+ ){0,3}(?:evidence|proof|indication|sign)',
    `${NOT} ${UP_TO_THREE}any (?:\\p{L}+ )?(?:evidence|proof|indications?|signs?)`,
    '(?:not|never) (?:been )?(?:shown|proven|proved|established|demonstrated|confirmed)',
    '(?:is|are|was|were|widely|researchers|people|critics|some|many) believed?',
    '(?:thought|believed|alleged|rumou?red|presumed|assumed|reputed|claimed) to',
    `(?:falsely|wrongly|mistakenly|erroneously|incorrectly) ${SAYS}`,
    "(?:nobody|few|hardly|no|\\p{L}+n't|not) (?:\\p{L}+ ){0,2}(?:believe[sd]?|thinks?)",
    '(?:doubt(?:s|ed|ful)?|false|wrong|incorrect|inaccurate|mistaken|myth|hoax|misconception|fallacy|fiction|lie|illusion|nonsense|rumou?rs?|questionable|unlikely|implausible|impossible|farfetched) (?:that|if)',
    `(?:wrong|false|mistaken|incorrect|premature|mistake|error|stretch|too early) to (?:${SAYS}|conclude|infer)`,
    `(?:disput|refut|disprov|debunk|reject|dismiss|contradict|retract|withdr[ae]w|undermin|overturn|abandon|pretend|struck down|made up|rule[sd]? out)\\p{L}* (?:${UP_TO_THREE}(?:${STATEMENT}|${PROOF}) )?that`,
    `${NOT} ${UP_TO_THREE}(?:true|the case|correct|reasons?|basis|certain|clear|likely|plausible|accept\\p{L}*|agree[sd]?|show[sn]?|showed|prove[sdn]?|proven|establish\\p{L}*|demonstrate[sd]?|confirm\\p{L}*|f[io]u?nds?|supports? the ${STATEMENT}|allows? the ${PROOF}|means?|holds?|follows?|replicate[sd]? the ${PROOF}|indicate[sd]?|conclude[sd]?|(?:reason )?to believe|${SAYS}) that`,
    `(?:kein\\p{L}*|nicht|nie|niemand|kaum|ohne|falsch|unwahr|angeblich|irrtum|mythos|märchen|gerücht|fraglich|bestr[ei]\\p{L}*|leugne\\p{L}*|dementier\\p{L}*|widerleg\\p{L}*|bezweif\\p{L}*) (?!(?:\\p{L}+ ){0,2}(?:wunder|zufall|(?:be)?zweifel|bestr|leugn|widerleg|nur|geheimnis|überrasch))${UP_TO_THREE}da(?:ss|ß)`,
  ].join('|')})(?= |$)`,
  'u',
);
