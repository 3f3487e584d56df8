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
/** Deny as a label before a colon: `Myth: …`. */
export const LABEL = /^(?:retracted|debunked|myth|misconception|hoax|false|untrue|incorrect|rumou?r|fiction|fake)$/;

const SAYS =
  '(?:claim|assert|believ|stat|say|said|report|suggest|impl|assum|think|thought|suppos|argu|maintain|insist)\\p{L}*';
const STATEMENT =
  '(?:claim|idea|notion|theor|hypothes|report|allegation|suggestion|accusation|belief|rumou?r|assertion|view|statement|possibilit)\\p{L}*';
const UP_TO_THREE = '(?:[\\p{L}\\p{N}]+ ){0,3}';
const NOT =
  "(?:not|no|never|none|nor|neither|nobody|nothing|cannot|hardly|scarcely|few|\\p{L}+n't)(?! (?:only|just|merely|until|doubt))";

/** Phrases that deny, or put in doubt, the clause that follows them. Words are in lower case, with one space between them. */
// oxlint-disable-next-line autonomous/linear-expressions -- begins at one place and takes at most eight words
export const OF_CLAUSE = new RegExp(
  `^(?:${[
    'whether|fail(?:ed|s|ing)? to|den(?:y|ies|ied|ying)|hypothesi[sz]e[sd]?|speculate[sd]?|untrue|ruled out|rather than|instead of',
    '(?:no|little|scant|insufficient) (?:\\p{L}+ ){0,2}(?:evidence|proof|indications?|sign)',
    '(?:no|not) (?:an?|one) (?:\\p{L}+ ){0,3}(?:evidence|proof|indication|sign)',
    `${NOT} ${UP_TO_THREE}any (?:\\p{L}+ )?(?:evidence|proof|indications?|signs?)`,
    '(?:not|never) (?:been )?(?:shown|proven|proved|established|demonstrated|confirmed)',
    '(?:is|are|was|were|widely|researchers|people|critics|some|many) believed?',
    '(?:thought|believed|alleged|rumou?red|presumed|assumed|reputed|claimed) to',
    `(?:falsely|wrongly|mistakenly|erroneously|incorrectly) ${SAYS}`,
    "(?:nobody|few|hardly|no|\\p{L}+n't|not) (?:\\p{L}+ ){0,2}(?:believe[sd]?|thinks?)",
    '(?:doubt(?:s|ed|ful)?|false|wrong|incorrect|inaccurate|mistaken|myth|hoax|misconception|fallacy|fiction|lie|nonsense|rumou?rs?|unlikely|implausible|impossible) (?:that|if)',
    `(?:wrong|false|mistaken|incorrect) to ${SAYS}`,
    `(?:disput|refut|disprov|debunk|reject|dismiss|contradict|retract|withdr[ae]w)\\p{L}* (?:${UP_TO_THREE}${STATEMENT} )?that`,
    `${NOT} ${UP_TO_THREE}(?:true|the case|correct|reasons?|basis|certain|clear|likely|plausible|accept\\p{L}*|agree[sd]?|show[sn]?|showed|prove[sdn]?|proven|establish\\p{L}*|demonstrate[sd]?|confirm\\p{L}*|f[io]u?nds?|means?|indicate[sd]?|conclude[sd]?|(?:reason )?to believe|${SAYS}) that`,
    `(?:kein\\p{L}*|nicht|nie|niemand|falsch|unwahr|bestr[ei]\\p{L}*|leugne\\p{L}*|dementier\\p{L}*) (?!(?:\\p{L}+ )?(?:wunder|zufall|zweifel|geheimnis|überrasch))${UP_TO_THREE}da(?:ss|ß)`,
  ].join('|')})(?= |$)`,
  'u',
);
