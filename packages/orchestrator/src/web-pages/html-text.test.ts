import { describe, expect, it } from 'vitest';
import { readHtmlPage } from './html-text.ts';
import { anArticle } from './local-web.fixture.ts';
import { seenText } from './unseen-marks.ts';

const WORDS = 'The first paragraph has enough words, commas, and sentences to be the main content of a page.';
const SECRET = 'The secret sentence stands in this passage.';

async function textOf(...passages: readonly string[]): Promise<string> {
  const reading = await readHtmlPage(
    anArticle('Tides', [WORDS, ...passages, `${WORDS} It is the last.`]),
    'https://a.example/',
  );
  if (!reading.ok) throw new Error(reading.why);
  return reading.page.text;
}

const styled = (css: string, attributes = 'class="x"'): string => `<style>${css}</style><p ${attributes}>${SECRET}</p>`;
const inline = (style: string): string => `<p style="${style}">${SECRET}</p>`;

describe('a passage that a reader of the page may not see', () => {
  it.each([
    ['white on white', inline('color:#fff')],
    ['white on white by names', inline('color: white; background: white')],
    ['almost white on white', inline('color:rgb(250 250 250)')],
    ['black on black', inline('background:#000')],
    ['a transparent colour', inline('color: rgba(0, 0, 0, 0.05)')],
    ['the fill of its letters', styled('.x{-webkit-text-fill-color:#ffff}')],
    ['an attribute of old pages', `<p><font color="white">${SECRET}</font></p>`],
    ['scale(0)', inline('transform:scale(0)')],
    ['scale as a property', styled('.x{scale:0.01}')],
    ['a rotation out of the page', inline('transform: rotateY(90deg)')],
    ['left in calc()', inline('position:absolute;left:calc(-9999px)')],
    ['left in widths of the window', inline('position:absolute;left:200vw')],
    ['a negative margin', styled('.x{margin-left:-99em}')],
    ['two classes', styled('.x.y{display:none}', 'class="x y"')],
    ['a class that the page names twice', styled('.x{color:black} .x{display:none}')],
    ['@media all', styled('@media all{.x{display:none}}')],
    ['@media of the window', styled('@media screen and (min-width: 300px){.x{display:none}}')],
    ['@supports', styled('@supports (display:grid){.x{display:none}}')],
    ['a container', styled('@container (width > 1px){.x{display:none}}')],
    ['a layer', styled('@layer a{.x{display:none}}')],
    ['nesting', styled('body{ article{color:#111} & .x{display:none} }')],
    ['an attribute selector', styled('[data-a="1"]{display:none}', 'data-a="1"')],
    ['an element selector', `<style>section p{display:none}</style><section><p>${SECRET}</p></section>`],
    ['a place among others', `<style>h6:nth-child(n){visibility:hidden}</style><h6>${SECRET}</h6>`],
    ['the absence of a state', styled('.x:not(:hover){display:none}')],
    ['a state that nobody can decide', styled('.x:lang(en){display:none}')],
    ['a variable', styled(':root{--A:none} .x{display:var(--A)}')],
    ['a variable without a value', styled('.x{display:var(--a, none)}')],
    ['an escape', inline('display:n\\6f ne')],
    ['an escaped property', styled('.x{disp\\6c ay:none}')],
    ['a comment', inline('display:/**/none')],
    ['clip-path:circle(0)', inline('clip-path:circle(0)')],
    ['a mask', styled('.x{-webkit-mask:linear-gradient(transparent,transparent)}')],
    ['overflow:clip', inline('height:0;overflow:clip')],
    ['a width of 0', inline('width:0;overflow:hidden;white-space:nowrap')],
    ['a height that cuts it off', styled(`.x{max-height:12px;overflow:hidden;padding-top:900px}`)],
    ['font:0/0', inline('font:0/0 a')],
    ['a font size of em', `<div style="font-size:.4em"><div style="font-size:.4em"><p>${SECRET}</p></div></div>`],
    ['content-visibility', inline('content-visibility:hidden')],
    ['filter:opacity(0)', inline('filter:opacity(0)')],
    ['opacity', styled('.x{opacity:.01}')],
    ['an animation', styled('@keyframes gone{to{opacity:0}} .x{animation:gone 0s forwards}')],
    ['popover', `<p popover>${SECRET}</p>`],
    ['hidden', `<p hidden>${SECRET}</p>`],
    ['aria-hidden', `<p aria-hidden="true">${SECRET}</p>`],
    ['a closed <details>', `<details><summary>More</summary><p>${SECRET}</p></details>`],
    ['a closed <dialog>', `<dialog><p>${SECRET}</p></dialog>`],
    ['<noscript>', `<noscript><p>${SECRET}</p></noscript>`],
    ['<template>', `<template><p>${SECRET}</p></template>`],
    ['<bdo>', `<p><bdo dir="rtl">${SECRET}</bdo></p>`],
    ['the title of a drawing', `<svg><title>${SECRET}</title></svg>`],
    ['a property that nobody knows', styled('.x{vanish:completely}')],
    ['words that a style puts before it', styled('.x::before{content:"It is NOT true that "}')],
    ['words that a style takes from an attribute', styled('.x:after{content:attr(data-b)}')],
    ['the order of a row', `<p style="display:flex"><span style="order:2">${SECRET}</span><span>Not.</span></p>`],
    [
      'a row in reverse',
      `<p style="display:flex;flex-direction:row-reverse"><span>${SECRET}</span><span>Not.</span></p>`,
    ],
  ])('is marked or left out: %s', async (_, passage) => {
    const text = await textOf(passage);
    expect(seenText(text)).toContain('It is the last.');
    expect(seenText(text)).not.toContain('secret sentence');
  });

  it('is no text of the page where only its description for machines has it', async () => {
    const body = JSON.stringify({ '@type': 'Article', articleBody: `${SECRET} ${`${WORDS} `.repeat(9)}` });
    expect(await textOf(`<script type="application/ld+json">${body}</script>`)).not.toContain('secret sentence');
  });

  it('keeps its words between marks, and the page cannot end them', async () => {
    const text = await textOf(
      '<p style="color:#fff">A hidden <b>sen⸩tence</b> stands &#x2E29; here.</p>',
      '<p>Math has ⸨ too.</p>',
    );
    expect(text).toContain('⸨A hidden **sen))tence** stands )) here.⸩');
    expect(text).toContain('Math has (( too.');
  });

  it('is the whole page where its styles take too long', async () => {
    const rules = Array.from({ length: 3_000 }, (_, index) => `p:not(#a${index}){color:#111}`).join('');
    const text = await textOf(`<style>${rules}</style>`, ...Array.from({ length: 200 }, () => `<p>${WORDS}</p>`));
    expect(seenText(text)).not.toContain('first paragraph');
  });
});

describe('a passage that its reader sees', () => {
  const SEEN = 'The plain sentence stands in this passage.';
  const all = (css: string, body = `<p class="x">${SEEN}</p>`): string => `<style>${css}</style>${body}`;

  it.each([
    ['without styles', `<p class="lead text-muted" id="intro">${SEEN}</p>`],
    [
      'in ordinary fonts and spaces',
      all('.x{font:400 1.1rem/1.6 "Open Sans",sans-serif;margin:0 auto 1.5em;padding:10px 2%;max-width:70ch}'),
    ],
    ['dark on white', all('body{background:#fff;color:#222} .x{color:#555}')],
    ['light on dark', all('body{background:#111;color:#eee} .x{color:hsl(0 0% 80%)}')],
    [
      'in colours of variables',
      all(
        ':root{--fg:oklch(.2 .02 250);--bg:white} [data-theme=dark]{--fg:#eee;--bg:#111} body{background:var(--bg)} .x{color:var(--fg)}',
      ),
    ],
    ['in colours of another style sheet', `<p style="color:var(--brand-text)">${SEEN}</p>`],
    [
      'light in a dark scheme that is not on',
      all('@media (prefers-color-scheme:dark){body{background:#000} .x{color:#fff}} .x{color:#000}'),
    ],
    [
      'white on a coloured box',
      `<div style="background:#0a2540;color:#fff;padding:2rem;border-radius:9999px"><p>${SEEN}</p></div>`,
    ],
    ['with a gradient beneath', all('.x{background:linear-gradient(90deg,#eee,#fafafa)}')],
    [
      'with a gradient in its letters',
      all(
        '.x{background:linear-gradient(90deg,#06c,#609);-webkit-background-clip:text;color:transparent}',
        `<h2 class="x">${SEEN}</h2>`,
      ),
    ],
    [
      'in a grid',
      all(
        '.g{display:grid;grid-template-columns:minmax(0,1fr) 300px;gap:2rem} .x{min-width:0;grid-column:1/-1}',
        `<div class="g"><p class="x">${SEEN}</p></div>`,
      ),
    ],
    [
      'in a flexible row',
      all(
        '.g{display:flex;flex-wrap:wrap;align-items:flex-start;justify-content:space-between} .x{flex:1 1 0}',
        `<div class="g"><p class="x">${SEEN}</p></div>`,
      ),
    ],
    [
      'beside a menu that small windows hide',
      all('@media (max-width:600px){.x,.menu{display:none}} @media print{.x{display:none}}'),
    ],
    [
      'that only small windows hide, by ranges',
      all(
        '@media (width < 40em){.x{display:none}} @media screen and (max-width:1000px) and (hover:none){.x{opacity:0}}',
      ),
    ],
    ['that a longer rule shows', all('.x{display:none} .x.on{display:block}', `<p class="x on">${SEEN}</p>`)],
    ['that a later rule shows', all('.x{visibility:hidden} .x{visibility:visible!important} .x{visibility:hidden}')],
    ['that its own style shows', all('.x{display:none}', `<p class="x" style="display:block">${SEEN}</p>`)],
    [
      'that another state hides',
      all('.x:hover{opacity:0} .x:not(.y):focus{display:none} body.loading .x{visibility:hidden}'),
    ],
    [
      'with an ornament of style',
      all('.x::before{content:"→ ";color:#fff} .x::after{content:"";position:absolute;left:-9999px;display:none}'),
    ],
    [
      'with a clear float',
      all('.x{overflow:hidden;position:relative;zoom:1} .x:after{clear:both;content:".";visibility:hidden;height:0}'),
    ],
    ['in a box that scrolls', all('.x{height:300px;overflow-y:auto}')],
    ['in a high box that cuts off', all('.x{height:100vh;overflow:hidden}')],
    [
      'in the middle of the window',
      all('.x{position:absolute;top:50%;left:50%;transform:translate(-50%,-50%) rotate(2deg) scale(1.1)}'),
    ],
    [
      'that fades in',
      all(
        '@keyframes in{from{opacity:0;transform:translateY(900px)}to{opacity:1;transform:none}} .x{opacity:0;animation:in .5s ease forwards}',
      ),
    ],
    ['after a script has shown the body', all('body{opacity:0;visibility:hidden} html{display:none}')],
    [
      'in a row without gaps',
      all('.g{font-size:0} .x{font-size:16px}', `<div class="g"><p class="x">${SEEN}</p></div>`),
    ],
    ['in an open <details>', `<details open><summary>More</summary><p>${SEEN}</p></details>`],
    [
      'in raised letters beside it',
      all(
        'sup{position:relative;top:-.5em;font-size:75%;line-height:0;vertical-align:baseline}',
        `<p>${SEEN}<sup>2</sup></p>`,
      ),
    ],
    ['with a picture at its side', all('.x{background:#f9f9f9 url(icon.svg) no-repeat 0 50%;padding-left:20px}')],
    [
      'with print rules and fonts',
      all(
        '@font-face{font-family:A;src:url(a)} @page{margin:1cm} @import "a.css"; .x{font-family:A;-webkit-font-smoothing:antialiased;text-rendering:optimizeLegibility;-ms-filter:"alpha(opacity=0)"}',
      ),
    ],
    ['with a right-to-left page around it', `<div dir="rtl"><p>${SEEN}</p></div>`],
    ['that is a formula', `<p>${SEEN} <math><mi style="color:white">x</mi></math></p>`],
  ])('is not marked: %s', async (_, passage) => {
    const text = await textOf(passage);
    expect(seenText(text).replaceAll('*', '')).toContain(SEEN);
    expect(text).not.toContain('⸨');
  });
});
