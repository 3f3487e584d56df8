import { describe, expect, it } from 'vitest';
import { growthOf, LINEAR } from '../../test/fixtures/growth.fixture.ts';
import { readHtmlPage } from './html-text.ts';
import { anArticle } from './local-web.fixture.ts';
import { readStyles } from './style-rules.ts';
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
    ['the last of two declarations', styled('.x{display:block;display:none}')],
    ['the last of two values', styled('.x{opacity:1;opacity:0}')],
    ['the last of two of its own', inline('color:#000;color:#fff')],
    ...[
      'display:none;display:foo',
      'position:fixed;left:-9999px;left:foo',
      'opacity:0;opacity:auto',
      'clip-path:inset(100%);clip-path:auto',
    ].flatMap((css) => [
      [`a value before one that is not valid: ${css}`, styled(`.x{${css}}`)],
      [`the same in two rules: ${css}`, styled(`.x{${css.replace(/;(?=[^;]*$)/, '} .x{')}}`)],
    ]),
    ['white before what is no colour', styled('.x{color:#fff} .x{color:foo}')],
    ['a transform before what is none', styled('.x{transform:scale(0)} .x{transform:foo}')],
    ['a value before one for unknown browsers', styled('.x{opacity:0} .x{-o-opacity:1}')],
    ['a value before one of an unknown name', styled('.x{visibility:hidden} .x{-ms-visibility:visible}')],
    ['an important layer', styled('@layer a{.x{display:none!important}} .x{display:block!important}')],
    ['a height in calc()', styled('.x{height:calc(1px);overflow:hidden}')],
    ['a height of hardly anything', styled('.x{height:.001%;overflow:hidden}')],
    ['a small box', styled('.x{width:40px;height:14px;overflow:hidden}')],
    ['a narrow line', styled('.x{width:30px;white-space:nowrap;overflow:hidden}')],
    ['a line out of its box', styled('.x{text-indent:100%;white-space:nowrap;overflow:hidden}')],
    [
      'an animation that comes late',
      styled('@keyframes in{to{opacity:1}} .x{opacity:0;animation:in 1s 99999s forwards}'),
    ],
    [
      'an animation that is paused',
      styled('@keyframes in{to{opacity:1}} .x{opacity:0;animation:in 1s paused forwards}'),
    ],
    [
      'what is more important than an animation',
      styled('@keyframes in{to{opacity:1}} .x{opacity:0!important;animation:in 1s forwards}'),
    ],
    [
      'opacities in each other',
      `<style>.w{opacity:.5}</style><div class="w"><div class="w"><p class="w">${SECRET}</p></div></div>`,
    ],
    [
      'scales in each other',
      `<style>.w{transform:scale(.4)}</style><div class="w"><div class="w"><p>${SECRET}</p></div></div>`,
    ],
    ['an animation', styled('@keyframes gone{to{opacity:0}} .x{animation:gone 0s forwards}')],
    ...[
      '@supports yes{.x{display:block}}',
      '@supports (display:grid) and yes{.x{display:block}}',
      '.n{display:block}',
      '[class~="n"]{display:block}',
      '[class^="x"]{display:block}',
      '[title="Ab c" s]{display:block}',
      '[data-x~=""]{display:block}',
      '[lang=k]{display:block}',
      'p:enabled{display:block}',
      '.y</style><math><style>.x{display:block}</style></math><style>.y{}',
      '.y{}</style><style>@namespace url(http://www.w3.org/2000/svg);.x{display:block}',
      '.y{}</style><style>@n\\61mespace url(http://www.w3.org/2000/svg);.x{display:block}',
    ].map((css) => [
      `what browsers do not read: ${css}`,
      styled(
        `.x{display:none} ${css}`,
        'class=" x y&nbsp;n \u000bn &#xfeff;n &emsp13;n" title="Ab c" data-x="" lang="\u212a"',
      ),
    ]),
    ['layers whose names have escapes', styled('@l\\61 yer b,a;@layer a{.x{display:none}}@layer b{.x{display:block}}')],
    [
      'a condition whose brackets hold others',
      styled(
        '@supports ((display:grid) and (not (display:grid)) and (display:grid)) or (display:grid){.x{display:none}}',
      ),
    ],
    ['a class with a space that divides none', styled('.x\\a0 n{display:none}', 'class="x\u00a0n"')],
    ['the same without an escape', styled('.x\u00a0n{display:none}', 'class="x&nbsp;n"')],
    ['a class in capital letters', styled('[class~="X" i]{display:none}')],
    ['classes of two spaces', styled('[class="x  y"]{display:none}', 'class="x  y"')],
    ['not a word that has spaces', styled('[title]:not([class~="x y"]){display:none}', 'class="x y" title="a"')],
    ['no state of its kind', styled('.x:not(:enabled){display:none}')],
    ['CLASS', styled('.x{opacity:0}', 'CLASS=x')],
    ['STYLE', `<p STYLE="opacity:0.01" style="opacity:1">${SECRET}</p>`],
    ['HIDDEN', `<p HIDDEN>${SECRET}</p>`],
    ...[
      'background-color:black url(a)',
      'background-color:url(a), black',
      'background-image:linear-gradient(black,black) center',
      'background-image:linear-gradient(left,black,black)',
      'background-image:radial-gradient(circle 5%,black,black)',
      'background-image:conic-gradient(black 5px,black)',
      'color:color-mix(in srgb,black)',
      'color:color-mix(in srgb,black,black,black)',
    ].map((css) => [`white before what browsers refuse: ${css}`, styled(`.x{color:white} .x{${css}}`)]),
    ['a background that only one browser paints', styled('.x{background:#000;color:#fff;background-clip:border-area}')],
    [
      'a background after what is none',
      styled('.x{background:#000;color:#fff;background-clip:border-area} .x{background-clip:center}'),
    ],
    ...[
      'height:0',
      'height:1px',
      'max-height:0',
      'width:0;white-space:nowrap',
      'display:contents',
      'height:12px;width:100px',
    ].flatMap((css) => [
      [`a background without a place: ${css}`, styled(`.x{background:#000;color:#fff;${css}}`)],
      [
        `a background around without a place: ${css}`,
        `<style>.w{background:#000;color:#fff;${css}}</style><div class="w"><p>${SECRET}</p></div>`,
      ],
    ]),
    [
      'a row without a width',
      `<style>.w{background:#000;display:flex;width:0} .x{color:#fff}</style><div class="w"><p class="x">${SECRET}</p></div>`,
    ],
    [
      'a background that is hidden',
      `<style>.w{background:#000;visibility:hidden} .x{visibility:visible;color:#fff}</style><div class="w"><p class="x">${SECRET}</p></div>`,
    ],
    ['white over a background in its letters', styled('.x{background:#000;background-clip:text;color:#fff}')],
    [
      'a background that an animation takes',
      styled('@keyframes a{to{background:#fff}} .x{background:#000;color:#fff;animation:a 1s forwards}'),
    ],
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

  it.each([
    '.x::first-line{color:white}',
    '.x::first-line{font-size:0}',
    '@layer a, b; @layer b{@layer a{.x{display:none}}} @layer a{.x{display:block}}',
    '@layer{p{display:block}} @layer{.x{display:none}}',
    '.x.x{display:none} :is(.x,.b1,.b2,.b3){display:block}',
    '.x.x{display:none} [id="i"]{display:block}',
    '.x{display:none} .x, :foo(%){display:block}',
    '.x{display:none} .x, .y:nonsense-thing{display:block}',
    '.x{display:none} .x, .y::nonsense{display:block}',
    '.x{display:none} .y{.a, .x{display:block}}',
    '.x{display:none} @supports (foo:bar){.x{display:block}}',
    '.x{display:none} @supports selector(:nonsense){.x{display:block}}',
    '.x{display:none} @container nosuch (min-width:1px){.x{display:block}}',
    '.x{display:none} @media (width) and screen{.x{display:block}}',
    '.x{display:none;display:table-foo}',
    '.x{display:none;display:inline block}',
    '.x{opacity:0;opacity:1 1}',
    '.x{opacity:0;opacity:1..1}',
    '.x{position:absolute;left:-9999px;left:0px 0px}',
    '.x{overflow:hidden;max-height:0;max-height:auto}',
    '.x{font-size:0;font-size:auto}',
    '.x{font-size:0;font:12px}',
    '.x{transform:scale(0);transform:translate(1px 1px)}',
    '.x{filter:opacity(0);filter:sepia(foo)}',
    '.x{color:white;color:light-dark(black,foo)}',
    '.x{color:white;background:#000 foo}',
    '.x:lang(en){color:white}',
    '.x{color:SelectedItemText}',
    '@property --c{syntax:"<color>";inherits:false;initial-value:white} .x{color:var(--c)}',
    '@property --d{syntax:"*";inherits:false;initial-value:none} .x{display:var(--d)}',
    '.x{--d:none;display:var(--d)} .x:lang(fr){--d:block}',
    '.x{--d:initial;display:var(--d,none)}',
    '.x{--a:var(--b);--b:var(--a);display:var(--a,none)}',
    ':root{--b:none;--a:var(--b)} .x{--b:block;display:var(--a)}',
    '.x{--d:none;--D:block;display:var(--d)}',
    '.x{transform:scale(.3) scale(.3) scale(.3) scale(.3)}',
    `.x{transform:${'translateX(-49px) '.repeat(30)}}`,
    '.x{transform-origin:-9999px 0;transform:rotate(180deg)}',
    '.x{font-size-adjust:0}',
    '.x{container-type:size;overflow:hidden}',
    '.x{float:left;contain:inline-size;overflow:hidden;white-space:nowrap}',
    '.x{flex:0 0 0px;min-width:0;overflow:hidden;white-space:nowrap}',
    '.x{height:12px;overflow:hidden;line-height:100px}',
    '.x{width:400px;height:20px;overflow:hidden;white-space:nowrap;text-indent:450px}',
    'article{height:60px;overflow:hidden} .x{margin-top:999px}',
    'article{height:60px;overflow:hidden} .x{position:relative;top:900px}',
    'article{overflow-x:hidden} .x{width:9999px;text-align:right}',
    '.x{position:absolute;top:-100px}',
    '.x{-webkit-margin-start:-9999px}',
    '.x{-webkit-text-stroke:20px white}',
    '.x{text-decoration:line-through 40px white}',
    '@keyframes h{from,to{opacity:0}} .x{animation:h 1s infinite}',
    '@keyframes h{from{opacity:0}} .x{animation:h 1s paused}',
    '@keyframes h{from,to{opacity:0}} .x{animation:h 99999s}',
    '@keyframes IN{to{opacity:1}} .x{opacity:0;animation:in 1s forwards}',
    ':root{--t:"It is NOT true that "} .x::before{content:var(--t)}',
    '@counter-style s{system:cyclic;symbols:"It is false that "} .x::before{content:counter(c,s)}',
    '.x{quotes:"It is false that " ""} .x::before{content:open-quote}',
    '.x{display:list-item;list-style:inside "It is false that "}',
    // A comment or an escape divides words.
    '.x{display:none} .x/**/y{display:block}',
    '.x{display:none;display:blo/**/ck}',
    '.x{opacity:0;opacity:1/**/0}',
    '.x{display:none;display:<!--block}',
    '.x{display:none;display:\\20 block}',
    '.x{display:none;\\20 display:block}',
    '.x{display:none;display:\u00a0block}',
    '.x{color:white;\u212A:0;bac\u212Aground:#000}',
    '.x{display:none} \u00a0.x{display:block}',
    '.x{display:none!important;display:block\\!important}',
    '.x{color:white;color:\\23 000}',
    '.x{opacity:0;opacity:\\31}',
    '.x{display:none} @media (min-width\\3a 1px){.x{display:block}}',
    // Conditions that browsers do not know.
    ...[
      '@media (min-width:10)',
      '@media (min-width:1.px)',
      '@media (min-width:1 px)',
      '@media (width>=width)',
      '@media (10px<20px)',
      '@media not layer',
      '@media not or',
      '@media not (hover:foo)',
      '@media not (max-width:1px) and (min-width:1px)',
      '@media print,',
      '@media (constructor)',
      '@-moz-media all',
      '@-moz-supports (display:grid)',
      '@supports (gap:foo)',
      '@layer 5',
      '@layer b,c',
      '@layer b c',
      '@layer initial',
    ].map((rule) => `@layer a{.x{display:none}} ${rule}{.x{display:block}}`),
    '@supports not (gap:foo){.x{display:none}}',
    '@import "a.css" layer(b); @layer a{.x{display:none}} @layer b{.x{display:block}}',
    '@layer b, c d, a; @layer a{.x{display:block}} @layer b{.x{display:none}}',
    '@container side{.x{display:none}}',
    // Selectors that browsers do not know, or count differently.
    '.x{display:none} .x:not(:has(:has(b))){display:block}',
    '.x{display:none} article >{display:block}',
    '.x{display:none} &.x{display:block}',
    '.x{display:none} .x:is(p::before){display:block}',
    '.x{display:none} .w{.x[class="&"], .x{display:block}}',
    `#i{display:none} ${'.x'.repeat(1_001)}{display:block}`,
    `#i{display:none} ${`:is(${'.x'.repeat(200)})`.repeat(6)}{display:block}`,
    // Browsers put later declarations behind nested rules.
    '.x{&{display:block} display:none}',
    '.x{@media all{display:block} display:none}',
    '.x{@media all{&{display:block}} display:none}',
    ...[
      'f .01s forwards} @keyframes f{to{opacity:1!important}}',
      'f .01s forwards} @keyframes f{tofu{opacity:1}}',
      'f .01s forwards} @keyframes f{100%0{opacity:1}}',
      'f .01s forwards} @keyframes f{to{opacity:1} 1e2%{opacity:0}}',
      'f .01s 0 forwards} @keyframes f{to{opacity:1}}',
      'f .01s 1s 1s 1s forwards} @keyframes f{to{opacity:1}}',
      'f .01s, forwards} @keyframes f{to{opacity:1}}',
      'f .01s;animation-fill-mode:1s;animation-delay:forwards} @keyframes f{to{opacity:1}}',
      'f .01s} article p{animation:f .01s forwards} @keyframes f{to{opacity:1}}',
      'f .01s forwards cubic-bezier(a)} @keyframes f{to{opacity:1}}',
    ].map((css) => `.x.x{opacity:0;animation:${css}`),
    '.x{opacity:0;animation-fill-mode:forwards;animation:f .01s} @keyframes f{to{opacity:1}}',
    '.x{animation:"f" .01s forwards} @keyframes f{to{opacity:0}}',
    '.x{-webkit-text-fill-color:white;text-fill-color:black}',
    '.x{opacity:0;-webkit-opacity:1}',
    ...[
      'background-color:#000 no-repeat',
      'background:#000 cover',
      'background:#000 left left',
      'background:#000,none',
      'background:linear-gradient(foo)',
      'background:linear-gradient(#000)',
      'background:linear-gradient(#000 #000,#000)',
    ].map((css) => `.x{color:white;background:white;${css}}`),
    // Values of registered properties.
    '@property --d{syntax:"*";inherits:false;initial-value:none} article{--d:block} .x{display:var(--d)}',
    '@property --d{syntax:"<length>";inherits:false;initial-value:0px} .x{--d:foo;height:var(--d);overflow:hidden}',
    '@property --c{syntax:"<color>";inherits:false;initial-value:white} .x{--c:foo;color:var(--c)}',
    '@property --d{inherits:true;initial-value:block} .x{display:var(--d,none)}',
    'article{color:white} .x{--a:#0;--b:00;color:var(--a)var(--b)}',
    // Values that cannot be computed.
    ...[
      'opacity:env(x,0)',
      'opacity:if(else:0)',
      'opacity:attr(data-o type(<number>))',
      'opacity:calc(sibling-index() - sibling-index())',
      'opacity:--none()',
      'visibility:attr(data-v type(*))',
      'scale:attr(data-v type(<number>))',
      'transform:scale(attr(data-v type(<number>)))',
      'color:env(x,white)',
      'height:env(x,0px);overflow:hidden',
      'height:attr(data-v px);overflow:hidden',
      'height:calc(1px * sibling-index());overflow:hidden',
      'width:calc(0% + 1px);overflow:hidden;white-space:nowrap',
      'max-width:min(1px,100%);overflow:hidden;white-space:nowrap',
      'rotate:y 90deg',
      'rotate:0 1 0 90deg',
      'flex-basis:0;flex-grow:0;overflow:hidden;white-space:nowrap',
      'filter:opacity(.3);opacity:.25',
    ].map((css) => `.x{${css}}`),
    'article{display:grid;grid-auto-rows:0} .x{overflow:hidden}',
  ])('is marked, whatever other rules say: %s', async (css) => {
    expect(seenText(await textOf(styled(css, 'class="x" id="i"')))).not.toContain('secret sentence');
  });

  it.each([
    ['of print', '<style media="print">'],
    ['of another type', '<style type="text/plain">'],
    ['of a title', '<style title="b">'],
    ['of a width without a unit', '<style media="(min-width:10)">'],
    ['in <noscript>', '<noscript><style>'],
    ['in <template>', '<template><style>'],
  ])('is marked though a style sheet that browsers do not read shows it: %s', async (_, open) => {
    const text = await textOf(
      `${open}.x{display:block!important}</style></noscript></template>`,
      styled('.x{display:none}'),
    );
    expect(seenText(text)).not.toContain('secret sentence');
  });

  it.each([
    ['<meter>', `<p>a <meter>${SECRET}</meter></p>`],
    ['<rp>', `<p><ruby>x<rp>${SECRET}</rp></ruby></p>`],
    ['a drawing', `<svg width="9" height="9"><symbol><text>${SECRET}</text></symbol></svg>`],
    [
      'a declarative shadow tree',
      `<div><template shadowrootmode="open"><p>Shown.</p></template><p>${SECRET}</p></div>`,
    ],
    [
      'a collapsed column',
      `<table><colgroup style="visibility:collapse"><col></colgroup><tr><td>${SECRET}</td></tr></table>`,
    ],
    [
      'the first of two checked radio buttons',
      `<style>.x{display:none} #a:checked ~ .x{display:block}</style><div><input type="radio" name="g" id="a" checked><input type="radio" name="g" checked><p class="x">${SECRET}</p></div>`,
    ],
    [
      'a <link> that is no link',
      `<style>.x{display:none} link:any-link ~ .x{display:block}</style><div><link rel="nothing" href="x"><p class="x">${SECRET}</p></div>`,
    ],
    [
      'the second of two beside struck-out text',
      `<style>.x{display:none} .x:first-child{display:block} s + .y{display:none}</style><div><s>a</s><p class="x y">${SECRET}</p></div>`,
    ],
    [
      'a style sheet in a hidden element',
      `<div style="display:none"><style>.x{display:none}</style></div><p class="x">${SECRET}</p>`,
    ],
    ['<mphantom>', `<p><math><mphantom><mtext>${SECRET}</mtext></mphantom></math></p>`],
    [
      'the second <details> of a name',
      `<details name="a" open><summary>a</summary>x</details><details name="a" open><summary>b</summary><p>${SECRET}</p></details>`,
    ],
    [
      '::details-content',
      `<style>details::details-content{display:none}</style><details open><summary>a</summary><p>${SECRET}</p></details>`,
    ],
  ])('is marked as an element that browsers do not show: %s', async (_, passage) => {
    expect(seenText(await textOf(passage))).not.toContain('secret sentence');
  });

  it.each([
    ['in front', '.x::before{content:"It is " "NOT true that "}', `It is NOT true that ${SECRET}`],
    ['as a mark', '.x::marker{content:"Not: "}', `Not: ${SECRET}`],
    ['from an attribute', '.x:after{content:attr(data-b)}', `${SECRET} Not at all.`],
    ['in a box', '.x::before{display:block;content:"Note"}', `Note ${SECRET}`],
  ])('stands beside the words that a style puts there: %s', async (_, css, expected) => {
    expect(await textOf(styled(css, 'class="x" data-b=" Not at all."'))).toContain(expected);
  });

  it('is read where its page has no element', async () => {
    expect(await readHtmlPage('‹'.repeat(9_000), 'https://a.example/')).toMatchObject({ ok: true });
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

  it('has no mark of the page itself in an attribute, a formula, or a number', async () => {
    const formula =
      '<math alttext="⸩ x ⸨"><mi>x</mi><annotation encoding="application/x-tex">⸩ x ⸨</annotation></math>';
    const text = await textOf(
      `<p style="color:#fff">It is ${formula} <a href="/a" title="&#11817;">so&#x002E29 or</a> not</p>`,
      `<p>And ${formula} <a href="/b" title="⸨">there</a>.</p>`,
    );
    expect(text.match(/[⸨⸩]/g)).toEqual(text.match(/⸨[^⸨⸩]*⸩/g)?.flatMap(() => ['⸨', '⸩']));
    expect(text).toMatch(/so\)\) or/);
  });

  it.each([
    ['a formula for machines', `<math alttext="\\text{${SECRET}}"><mi>x</mi></math>`],
    [
      'the source of a formula',
      `<math><mi>x</mi><annotation encoding="application/x-tex">${SECRET}</annotation></math>`,
    ],
    ['words in a hidden formula', `<math class="x"><mtext>${SECRET}</mtext></math>`],
    ['a formula of a script', `<script type="math/tex">\\text{${SECRET}}</script>`],
    ['the title of a link', `<a href="/q" title="${SECRET}">one</a>`],
    ['TeX beside its drawing', `<span class="x math" data-latex="\\text{${SECRET}}">y</span>`],
    ['TeX beside a seen drawing', `<span class="math" data-tex="\\text{${SECRET}}">y</span>`],
  ])('is left out: %s', async (_, passage) => {
    const text = await textOf(`<style>.x{opacity:0}</style><p>It is ${passage} so and so.</p>`);
    expect(text).toContain('so and so.');
    expect(text).not.toContain('secret sentence');
  });

  it('is all of a page that has a font without a size', async () => {
    const css = (size: string): string => `@font-face{font-family:f;src:local(Arial);size-adjust:${size}}`;
    expect(seenText(await textOf(styled(css('0%'))))).not.toContain('paragraph');
    expect(await textOf(styled(css('97.5%')))).not.toContain('⸨');
  });

  it('has no marks in the title of its page', async () => {
    const page = `<title>Tides</title><style>*{color:#fff}</style><article><h1>Tides</h1><p>${WORDS}</p><p>${WORDS}</p>`;
    const reading = await readHtmlPage(`<html><head>${page}</article></html>`, 'https://a.example/');
    expect(reading).toMatchObject({ page: { title: 'Tides', author: '', published: '' } });
  });
});

describe('a page with many styles', () => {
  const many = (count: number, text: (index: number) => string): string =>
    Array.from({ length: count }, (_, index) => text(index)).join('');

  it.each([
    [
      'of other elements',
      many(900, (index) => `.c${index % 50} .row-${index}{margin:0} .p:nth-child(${index + 1}){margin:${index % 9}px}`),
    ],
    ['of all elements', many(30, (index) => `*,::before,::after{--tw-${index}:0}`)],
    [
      'of its elements',
      many(
        400,
        (index) => `${['code', 'p', 'a', 'article p', 'p:first-child'][index % 5]}{margin:${index % 5}px;color:#111}`,
      ),
    ],
  ])('is read as others are: %s', async (_, css) => {
    const text = await textOf(
      `<style>${css} .x{display:none}</style>`,
      many(1_000, (index) => `<div class="c${index % 50}"><p class="p">${WORDS} <code>x</code></p></div>`),
      `<p class="x">${SECRET}</p>`,
    );
    expect(seenText(text)).toContain('first paragraph');
    expect(seenText(text)).not.toContain('secret sentence');
  });

  it('is seen where they take too many steps', async () => {
    const css = many(2_000, (index) => `p:nth-last-child(n+${index}) ~ p:nth-child(n+${index}){color:#fff}`);
    const text = await textOf(
      `<style>${css}</style>`,
      many(1_000, () => `<p>${WORDS}</p>`),
    );
    expect(text).not.toContain('⸨');
  });

  it.each([
    ['layers in each other', 2_000, (size: number) => `@layer ${'a.'.repeat(size)}a;`],
    ['animations of one name', 1_000, (size: number) => '@keyframes a{from{opacity:0}to{opacity:1}}'.repeat(size)],
    ['strings without an end', 20_000, (size: number) => '"\n'.repeat(size)],
  ])('takes time in proportion to its length: %s', async (_, size, css) => {
    const read = (text: string): void => void readStyles([{ text, isCertain: true }]);
    expect(await growthOf(size, css, read)).toBeLessThan(LINEAR);
  });

  it.each([
    ['nested in 20,000 brackets', `.x{width:calc${'('.repeat(20_000)}}`],
    ['nested in each other', `.a,.b{${`${'& &,'.repeat(5)}&{`.repeat(6)}color:red`],
    ['in a long selector', `.x${':is('.repeat(5_000)}a`],
  ])('is seen where they cannot be read: %s', async (_, css) => {
    const text = await textOf(
      `<style>${css}</style><p class="a x" style="width:calc${'('.repeat(9_000)}">${WORDS}</p>`,
    );
    expect(text).not.toContain('⸨');
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
    ...[
      'background:#111;height:400px',
      'background:#111;height:100%',
      'background:#111;background-clip:padding-box, border-box',
      'background:#111;width:1%;white-space:nowrap;display:table-cell',
      'background:color-mix(in oklab,#000 80%,transparent)',
      'background-image:radial-gradient(circle at 50% -20%,#222,#000 70%)',
      'background-image:conic-gradient(from 90deg at 50% 50%,#111 0deg,#222 50%,#111)',
    ].map((css) => [`white on a box with ${css}`, all(`.x{${css};color:#fff}`)]),
    [
      'beside a number in a small circle',
      all('b{background:#c00;color:#fff;width:20px;height:20px;display:inline-block}', `<p><b>3</b> ${SEEN}</p>`),
    ],
    ['that a class of old pages shows', all('.x{display:none} .Y{display:block}', `<P CLASS="x Y">${SEEN}</P>`)],
    ['with a right-to-left page around it', `<div dir="rtl"><p>${SEEN}</p></div>`],
    ['by the last of two declarations', all('.x{display:none;display:block}')],
    [
      'by a background behind an older one',
      all('.x{background:#000;background:linear-gradient(#fff,#eee);color:#000}'),
    ],
    ['by a plain background behind a colour', all('.x{background-color:#000} .x{background:#fff}')],
    ['on a gradient of two colours', all('.x{color:#fff;background:linear-gradient(transparent,rgba(0,0,0,.8))}')],
    ['on a picture', all('.x{color:#fff;background:url(night.jpg)}')],
    ['on white with a picture', all('.w{background:#fff url(bg.png)}', `<div class="w"><p>${SEEN}</p></div>`)],
    [
      'in a column of a grid',
      all(
        '.g{display:grid;grid-template-columns:1fr min(65ch,100%) 1fr} .g>*{grid-column:2}',
        `<div class="g"><p>${SEEN}</p></div>`,
      ),
    ],
    [
      'in an area of a grid',
      all('.w{grid-area:main;order:1;display:flex;flex-direction:row-reverse}', `<div class="w"><p>${SEEN}</p></div>`),
    ],
    [
      'between margins of max()',
      all(
        '.w{padding-inline:max(1rem,(100% - 1200px)/2);margin-left:max(1rem,calc(50% - 600px))}',
        `<div class="w"><p>${SEEN}</p></div>`,
      ),
    ],
    [
      'on a gradient of registered variables',
      all(
        ':root{--a:oklch(.3 .2 259);--b:#123} .x{--p:to right in oklab;--f:var(--a);--s:var(--v,var(--p),var(--f) var(--n),var(--b) 100%);background-image:linear-gradient(var(--s));color:#fff} @property --f{syntax:"<color>";inherits:false;initial-value:#0000} @property --n{syntax:"<length-percentage>";inherits:false;initial-value:0%} @property --v{syntax:"*";inherits:false}',
      ),
    ],
    ...[
      'background:url(a.png) no-repeat center/cover #222',
      'background:#222 url(a.png) no-repeat right 10px center',
      'background:radial-gradient(ellipse 80% 50% at 50% -20%,rgba(9,9,98,.3),transparent),#111',
      'background:linear-gradient(90deg,#111 calc(50% - 1px),#222 0) fixed',
    ].map((css) => [`on ${css}`, all(`.x{${css};color:#fff}`)]),
    [
      'by a class for large windows',
      all('.x{display:none} @media (width>=48rem){.md\\:w-1\\/2{display:block}}', `<p class="x md:w-1/2">${SEEN}</p>`),
    ],
    [
      'between comments',
      all('/* a */ .x { /* b */ display: none; /* c */ } .x /* d */ , /* e */ .y { display: block /* f */; }'),
    ],
    [
      'in a box of computed sizes',
      all(
        '.x{overflow:hidden;width:calc((100% - 3*1rem)/4);max-width:min(90vw,700px);height:calc(100% - env(safe-area-inset-bottom))}',
      ),
    ],
    [
      'that fades in late',
      all(
        '@keyframes f{to{opacity:1}} .x{opacity:0;animation:f .6s cubic-bezier(.2, .8, .2, 1) forwards}',
        `<p class="x" style="animation-delay:.2s">${SEEN}</p>`,
      ),
    ],
    ['in a layer below', all('.w{position:relative;z-index:-1}', `<div class="w"><p>${SEEN}</p></div>`)],
    [
      'in an element that is hidden itself',
      all('.w{visibility:hidden} .x{visibility:visible}', `<div class="w"><p class="x">${SEEN}</p></div>`),
    ],
    [
      'on the background of a linked sheet',
      all('body{color:#eee}', `<link rel="stylesheet" href="dark.css"><p>${SEEN}</p>`),
    ],
    [
      'in a box that a linked sheet may paint',
      all('body{background:#fff} .x{color:#fff}', `<link rel="stylesheet" href="a.css"><p class="x">${SEEN}</p>`),
    ],
    [
      'where old browsers do not see it',
      all('@supports not (display:grid){.x{display:none}} @container (max-width:300px){.x{display:none}}'),
    ],
    ['that is not empty', all('p:empty{display:none}')],
    ['with a number of a note', all('sup a{position:absolute}', `<p>${SEEN}<sup><a href="#n1">1</a></sup></p>`)],
    ['that scripts define', all('x-note:not(:defined){visibility:hidden}', `<x-note><p>${SEEN}</p></x-note>`)],
    ...[
      ['in a tab', '.x{display:none} .x.on{display:block}'],
      ['in a tab of its state', '.x{display:none} .x[data-state="active"]{display:block} #t:checked ~ .x{color:#222}'],
      [
        'beside words for screen readers',
        '.sr{position:absolute;width:1px;height:1px;margin:-1px;overflow:hidden;clip:rect(0,0,0,0)}',
      ],
      [
        'beside a button that copies',
        'article{position:relative} button{position:absolute;top:4px;right:4px;opacity:0} article:hover button{opacity:1}',
      ],
      ['that is not printed', '@media print{p{display:none} body{color:#fff}}'],
      ['in a dark scheme', ':root{color-scheme:dark} p{color:#eee}'],
      ['in a card of variables', ':root{--bg:#111;--fg:#eee} .x{background:var(--bg);color:var(--fg)}'],
      ['with an initial', '.x::first-letter{font-size:3em;float:left;color:#903;line-height:.8}'],
      ['in lines with numbers', 'p{counter-increment:l} p::before{content:counter(l);color:#888}'],
      ['in a bar of one line', 'article{height:40px;line-height:40px;overflow:hidden} .x{padding:0 20px}'],
      ['in layers', '@layer base,utilities; @layer base{.x{display:none}} @layer utilities{.on{display:block}}'],
      ['that hovers', '@keyframes f{50%{transform:translateY(-10px)}} .x{animation:f 3s ease-in-out infinite}'],
      ['in a list of letters', '.x{display:list-item;list-style:lower-alpha inside}'],
      ['in odd rows', 'p:nth-child(odd){background:#333;color:#fff} p:nth-child(even){background:#111;color:#fff}'],
      [
        'with an offset for its anchor',
        '.x{scroll-margin-top:80px;-webkit-font-smoothing:antialiased;-webkit-tap-highlight-color:red}',
      ],
    ].map(([name = '', css = '']) => [name, all(css, `<p class="x on" data-state="active">${SEEN}</p>`)] as const),
    ['beside a style sheet for print', `<style media="print">p{display:none}</style><p>${SEEN}</p>`],
    ['beside one without scripts', `<noscript><style>p{display:none}</style></noscript><p>${SEEN}</p>`],
    ['beside a link of another site', all('a::after{content:" (external)"}', `<p>${SEEN} <a href="/x">x</a></p>`)],
    ['that is a formula', `<p>${SEEN} <math><mi style="color:white">x</mi></math></p>`],
  ] as (readonly [string, string])[])('is not marked: %s', async (_, passage) => {
    const text = await textOf(passage);
    expect(seenText(text).replaceAll('*', '')).toContain(SEEN);
    expect(text).not.toContain('⸨');
  });
});
