/** Quotes that begin or end within a sentence, beside the claims made of them. */
import { expect, it } from 'vitest';
import { checkCitations, correctionText, leftOutOf } from './citations.ts';

const PLANT = 'the plant leaks waste into the river';
const BELL = 'the oldest bell of the town was cast in 1288 by monks';
const WERK = 'das Werk Abfälle in den Fluss einleitet';
const FLU = 'the treatment is effective against the flu in adults';

/** A finding with one quote of one page. Without a claim of its own it claims its quote. */
const checked = (page: string, quote: string, claim = `${quote.charAt(0).toUpperCase()}${quote.slice(1)}.`) =>
  checkCitations(
    [{ id: 'F1', claim, evidence: [{ quote, address: 'https://a.example/p' }], sources: [], confidence: 'high' }],
    {
      fetched: [
        {
          requested: 'https://a.example/p',
          address: 'https://a.example/p',
          hash: 'h',
          at: '2026-01-02T03:04:05.000Z',
          status: 200,
        },
      ],
      refused: [],
    },
    new Map([['h', `Nothing of this is true for other towns.\n\n${page}\n\nThe rumour was debunked.`]]),
  );

it.each([
  [`There is no evidence that ${PLANT}.`, PLANT],
  [`There is not a shred of evidence or reason to believe that ${PLANT}.`, PLANT],
  [`There is, the inspectors wrote, no evidence, at least so far, that ${PLANT}.`, PLANT],
  [`The minister denied, in a long interview, that ${PLANT}.`, PLANT],
  [`The report does not show that ${PLANT}.`, PLANT],
  [`Inspectors did not find any proof that ${PLANT}.`, PLANT],
  [`A court dismissed the allegation that ${PLANT}.`, PLANT],
  [`It is doubtful that ${PLANT}.`, PLANT],
  [`The claim that ${PLANT} is false.`, PLANT],
  [`That ${PLANT} is a myth.`, PLANT],
  [`That ${PLANT} was untrue.`, PLANT],
  [`The plant leaks waste into the river is a claim that is since debunked.`, 'plant leaks waste into the river'],
  [`It remains to be seen whether ${PLANT}.`, PLANT],
  [`There is no evidence that:\n\n- the mill is closed to all\n- ${PLANT}\n- the lake is dry`, PLANT],
  [`The minister denied the following:\n\n1. the mill is closed to all\n2. ${PLANT}`, PLANT],
  [`The audit of 2019, led by Dr. Smith, found no evidence that ${PLANT}.`, PLANT],
  [`It is not true that ${BELL}.`, BELL],
  [`It isn't true that ${BELL}.`, BELL],
  [`Critics falsely claim that ${BELL}.`, BELL],
  [`Nobody serious believes ${BELL}.`, BELL],
  [`It would be wrong to say that ${BELL}.`, BELL],
  [`The oldest bell of the town was thought to have been cast in 1288 by monks.`, 'have been cast in 1288 by monks'],
  [`It is untrue ${FLU}.`, FLU],
  [`Retracted: ${FLU}.`, FLU],
  [`Myth 3: ${FLU}.`, FLU],
  [`The treatment is hardly effective against the flu in adults.`, 'effective against the flu in adults'],
  [`The drug was tested and never cured all cancers there.`, 'The drug was tested … cured all cancers there'],
  [`Es ist nicht wahr, dass das Werk Abfälle in den Fluss einleitet.`, 'das Werk Abfälle in den Fluss einleitet'],
  [`Der Minister bestritt, dass das Werk Abfälle in den Fluss einleitet.`, 'das Werk Abfälle in den Fluss einleitet'],
  [`The audit cast doubt on the claim that ${PLANT}.`, PLANT],
  [`The audit undermines the notion that ${PLANT}.`, PLANT],
  [`A review overturned the earlier finding that ${PLANT}.`, PLANT],
  [`It is far from certain that ${PLANT}.`, PLANT],
  [`In the absence of evidence that ${PLANT}, the mill stays open.`, PLANT],
  [`It would be wrong to conclude that ${PLANT}.`, PLANT],
  [`Contrary to the belief that ${PLANT}, the river is clean.`, PLANT],
  [`Despite claims that ${PLANT}, the river is clean.`, PLANT],
  [`Inspectors used to think that ${PLANT}.`, PLANT],
  [`It was once thought that ${PLANT}.`, PLANT],
  [`The audit ended without showing that ${PLANT}.`, PLANT],
  [`Experts no longer hold that ${PLANT}.`, PLANT],
  [`It is not true, says Dr. Lee, that ${PLANT}.`, PLANT],
  [`No evidence exists, e.g. Smith 2019, that ${PLANT}.`, PLANT],
  [`Allegedly, ${PLANT}.`, PLANT],
  [`The claim that ${PLANT} is bogus.`, PLANT],
  [`The claim that ${PLANT} was forged by its owner.`, PLANT],
  [`That ${PLANT} has been refuted many times.`, PLANT],
  [`That ${PLANT} is simply not so.`, PLANT],
  [`The report that ${PLANT} turned out to be false.`, PLANT],
  [`The belief that ${PLANT} has no basis.`, PLANT],
  [`It is a fact that ${PLANT}, which is false.`, PLANT],
  [`Critics say ${PLANT}, a claim that three audits refuted.`, PLANT],
  [`So ${PLANT}, the owner falsely said.`, PLANT],
  [`Yes, ${PLANT}; that is not so.`, PLANT],
  [`False claim: ${PLANT}.`, PLANT],
  [`Wrong: ${PLANT}.`, PLANT],
  [`Fact check (false): ${PLANT}.`, PLANT],
  [`These are myths: the mill is closed; ${PLANT}.`, PLANT],
  [`**Common myths:**\n\n- the mill is closed\n- ${PLANT}`, PLANT],
  [`The following claims are false:\n\n1. ${PLANT}\n2. the mill is closed`, PLANT],
  [`No audit has shown that\n\n> ${PLANT}`, PLANT],
  [`> No audit has ever\n> shown that ${PLANT}.`, PLANT],
  [`Claim: ${PLANT}. Verdict: false.`, PLANT],
  [`| Statement | Verdict |\n|---|---|\n| ${PLANT} | **False** |`, PLANT],
  [`| Claim | Verdict |\n| :--- | ---: |\n| ${PLANT} | False |`, PLANT],
  [`| Drug | Dose |\n|:-:|--:|\n| A | 5 |\n\nCommon myths:\n\n- ${PLANT}`, PLANT],
  [`\uE000| a |\n|\uE002---|\n\nCommon myths:\n\uE000\n- ${PLANT}`, PLANT],
  [`| Area |²³ |\n|---|---|\n| km |² |\n\nCommon myths:\n\n- ${PLANT}`, PLANT],
  [`| Verdict | Claim |\n|---|---|\n| False | ${PLANT} |`, PLANT],
  [`| Claim | Verdict |\n|---|---|\n| ${PLANT} | False: no audit |`, PLANT],
  [`| Claim | Verdict |\n|---|---|\n| ${PLANT} | ❌ |`, PLANT],
  [`| Claim | True? |\n|---|---|\n| ${PLANT} | No |`, PLANT],
  [`| Myth | Fact |\n|---|---|\n| ${PLANT} | It has a filter |`, PLANT],
  [`Claim | Verdict\n---|---\n${PLANT} | False`, PLANT],
  [`❌ ${PLANT}.`, PLANT],
  [`So ${PLANT} ❌`, PLANT],
  [`So ${PLANT}. Verdict: not supported.`, PLANT],
  [`So ${PLANT}. Our verdict: false.`, PLANT],
  [`So ${PLANT}. Status: debunked.`, PLANT],
  [`So ${PLANT}. FALSE.`, PLANT],
  [`> So ${PLANT}.\n\nThis is false.`, PLANT],
  [`Common myths:\n\na) ${PLANT}\nb) the mill is closed`, PLANT],
  [`Common myths:\n\n100. ${PLANT}`, PLANT],
  [`Common myths:\n\n– ${PLANT}`, PLANT],
  [`Common myths:\n\n- It is simple. So ${PLANT}.`, PLANT],
  [`Common myths:\n\n- It is simple.\n\n  So ${PLANT}.`, PLANT],
  [`The following statements are false.\n\n- ${PLANT}`, PLANT],
  [`## Common myths\n\n- ${PLANT}`, PLANT],
  [`He lied when he wrote:\n\n> Dear reader.\n>\n> So ${PLANT}.`, PLANT],
  [`The hoax said:\n\n> > ${PLANT}`, PLANT],
  [`Fake news: ${PLANT}.`, PLANT],
  [`Audits have yet to show that ${PLANT}.`, PLANT],
  [`The owner was fined for saying that ${PLANT}.`, PLANT],
  [`Inspectors rule out that ${PLANT}.`, PLANT],
  [`Angeblich leitet das Werk Abfälle in den Fluss ein.`, 'leitet das Werk Abfälle in den Fluss ein'],
  [`Die Prüfung widerlegt die Annahme, dass das Werk Abfälle in den Fluss einleitet.`, WERK],
  [`Es ist ein Irrtum, dass das Werk Abfälle in den Fluss einleitet.`, WERK],
  [`Kaum jemand glaubt, dass das Werk Abfälle in den Fluss einleitet.`, WERK],
  [`Fachleute bezweifeln, dass das Werk Abfälle in den Fluss einleitet.`, WERK],
  [`Dass das Werk Abfälle in den Fluss einleitet, ist frei erfunden.`, WERK],
  [`Mythos: Das Werk leitet Abfälle in den Fluss.`, 'Das Werk leitet Abfälle in den Fluss'],
  [`Folgende Aussagen sind falsch:\n\n- Das Werk leitet Abfälle in den Fluss.`, 'Das Werk leitet Abfälle in den Fluss'],
  [`Das Werk leitet Abfälle in den Fluss nicht.`, 'Das Werk leitet Abfälle in den Fluss'],
])('a quote is refused when its sentence on the page denies it: %j', (page, quote) => {
  const [found] = checked(page, quote);
  expect(found?.accepted).toEqual([]);
  expect(found?.rejected[0]?.reason).toMatchObject({ isAround: true });
});

it.each([
  [`According to the ministry, ${PLANT}.`, PLANT],
  [`The inspectors found that ${PLANT}.`, PLANT],
  [`The report shows that ${PLANT}, and that the mill does not.`, PLANT],
  [`It is unlikely to rain, so ${PLANT} at the usual rate.`, PLANT],
  [`There is no doubt that ${PLANT}.`, PLANT],
  [`Nobody denies that ${PLANT}.`, PLANT],
  [`It is not surprising that ${PLANT}.`, PLANT],
  [`It was not only shown that the mill is old but also that ${PLANT}.`, PLANT],
  [`However, ${PLANT}.`, PLANT],
  [`The minister denied all wrongdoing, but a court ruled that ${PLANT}.`, PLANT],
  [`The mill denied the charge; ${PLANT}.`, PLANT],
  [`## False alarms and myths\n\nFindings of 2019: ${PLANT}.`, PLANT],
  [`# Never leaks\n${PLANT.replace('the', 'The')}, inspectors say.`, 'plant leaks waste into the river'],
  [`Inspectors noted the following:\n\n- no evidence of a fire that was set\n- ${PLANT}\n- the lake is dry`, PLANT],
  [`| Claim | Verdict |\n|---|---|\n| no evidence of fire | ${PLANT} |`, PLANT],
  [`The first claim was debunked. In 2020 inspectors saw that ${PLANT}.`, PLANT],
  [`The first claim is false! Inspectors saw that ${PLANT}.`, PLANT],
  [`Although the mill has never been closed, ${PLANT}.`, PLANT],
  [`The tower has no clock, and ${BELL}.`, BELL],
  [`Not only is the tower old, but ${BELL}.`, BELL],
  [`Historians agree that ${BELL}, not by nuns.`, BELL],
  [`The bell is cracked and may not ring; ${BELL}.`, BELL],
  [`In the words of Prof. Smith: "${BELL}".`, BELL],
  [`Fact: ${BELL}. Myth: it was cast by nuns.`, BELL],
  [`The trial failed at first, yet later work found that ${FLU}.`, FLU],
  [`Unlike the vaccine, which failed in children, ${FLU}.`, FLU],
  [`Es ist kein Wunder, dass das Werk Abfälle in den Fluss einleitet.`, 'das Werk Abfälle in den Fluss einleitet'],
  [
    `Laut dem Ministerium, das nicht alles prüfte, steht fest, dass das Werk Abfälle in den Fluss einleitet.`,
    'das Werk Abfälle in den Fluss einleitet',
  ],
  [`Das Werk wurde 1990 gebaut und ist nicht das einzige im Tal.`, 'Das Werk wurde 1990 gebaut'],
  [`Falsely labelled products apart, the firm recalled 40 toys in 2019.`, 'the firm recalled 40 toys in 2019'],
  [`Unless the option \`strict\` is false, the parser returns an empty list.`, 'the parser returns an empty list'],
  [`The court dismissed him and said that ${PLANT}.`, PLANT],
  [`A denial-of-service attack shows that ${PLANT}.`, PLANT],
  [`The journal retracted the paper, and ${PLANT}.`, PLANT],
  [`A failed test leaves screenshots of its windows.`, 'test leaves screenshots of its windows'],
  [`The mill uses a dam instead of a wheel to indicate the state of the lake.`, 'indicate the state of the lake'],
  [`In Greek myth Zeus fathered Athena alone.`, 'Zeus fathered Athena alone'],
  [`There is no reason to doubt that ${PLANT}.`, PLANT],
  [`Nobody refuted the claim that ${PLANT}.`, PLANT],
  [`They ruled out chance and found that ${PLANT}.`, PLANT],
  [`The audit undermined the mill and showed that ${PLANT}.`, PLANT],
  [`Despite the finding that ${PLANT}, the ministry did nothing.`, PLANT],
  [`The claim that the mill is closed is bogus, and ${PLANT}.`, PLANT],
  [`Letters that were forged show that ${PLANT}.`, PLANT],
  [`Every year ${PLANT}, which is wrong of its owner.`, PLANT],
  [`Inspectors note: the key was forged.`, 'Inspectors note: the key was', 'Inspectors note the key.'],
  [`Common causes of myths: ${PLANT}; the mill is old.`, PLANT],
  [`Myth: the mill is closed. Fact: ${PLANT}.`, PLANT],
  [`Claim: ${PLANT}. Verdict: true.`, PLANT],
  [`| Claim | Verdict |\n|---|---|\n| ${PLANT} | True |\n| the mill is closed | False |`, PLANT],
  [`| Claim | Verdict | Why |\n|---|---|---|\n| the mill is closed | False | ${PLANT} |`, PLANT],
  [`| Option | Default | Meaning |\n|---|---|---|\n| strict | false | ${PLANT} |`, PLANT],
  [`The audit found this:\n\n> ${PLANT}`, PLANT],
  [`| Verdict | Claim |\n| :-: | --- |\n| True | ${PLANT} |\n| False | the mill is closed |`, PLANT],
  [`Claim | Verdict\n--- | ---\n${PLANT} | True\nthe mill is closed | False\n\nSo ${PLANT}.`, PLANT],
  [`| Myth | Fact |\n|---|---|\n| the mill is closed | ${PLANT} |`, PLANT],
  [`| Claim | Tested in 2019 |\n|---|---|\n| ${PLANT} | No |`, PLANT],
  [`The mill is closed ❌\n\n- ✔ ${PLANT}\n- ❌ the mill is closed`, PLANT],
  [`❌ The mill is closed.\n✔ Yes, ${PLANT}.`, PLANT],
  [`So ${PLANT}.\n\nFalse. The mill is not closed.`, PLANT],
  [`So ${PLANT}. False alarms are rare. This is false of the mill.`, PLANT],
  [`Common myths:\n\n- The mill is closed. In fact, ${PLANT}.`, PLANT],
  [`Common myths:\n\n- the mill is closed\n\nSo ${PLANT}.`, PLANT],
  [`Inspectors noted these.\n\n1) ${PLANT}\n2) the mill is not closed`, PLANT],
  [`The first finding is false.\n\n## Results\n\n- It is simple. So ${PLANT}.`, PLANT],
  [`He lied about his age, and ${PLANT}.`, PLANT],
  [`The owner was fined: ${PLANT}.`, PLANT],
  [`Niemand bestreitet, dass das Werk Abfälle in den Fluss einleitet.`, WERK],
  [`Kein Fachmann bezweifelt, dass das Werk Abfälle in den Fluss einleitet.`, WERK],
  [`Das Werk leitet Abfälle in den Fluss, in den See aber nicht.`, 'Das Werk leitet Abfälle in den Fluss'],
])('a quote is accepted when its sentence on the page does not deny it: %j', (page, quote, claim?: string) => {
  expect(checked(page, quote, claim)[0]?.rejected).toEqual([]);
});

it('a quote is accepted when its claim repeats the denial before it', () => {
  const page = `There is no evidence that ${PLANT}.`;
  expect(checked(page, PLANT, 'It is unproven that the plant leaks waste.')[0]?.rejected).toEqual([]);
});

it('agent and reader are shown the words before a quote that deny it', () => {
  const found = checked(`There is no evidence that ${PLANT}.`, PLANT);
  expect(correctionText(found)).toContain('"no evidence that the plant"');
  expect(leftOutOf(found)[0]?.items[0]?.why).toBe(
    'The sentence of the page in which a quote stands denies it or says it with a reservation: "no evidence that the plant".',
  );
});

it('reads long pages in time in proportion to their length', () => {
  const page = `${'- no evidence that it is so: '.repeat(10_000)}\n${'- a\n'.repeat(50_000)}${PLANT}`;
  expect(checked(page, PLANT)).toHaveLength(1);
});
