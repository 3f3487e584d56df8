/**
 * Mutants of a source by its syntax tree: small changes of what the code decides. Types, comments, logs and texts for people are
 * left alone, as is optional chaining.
 */
import { parseSync } from 'rolldown/utils';

const PAIRS = ['< <=', '> >=', '=== !==', '== !=', '+ -', '* /', '&& ||', '+= -=', '++ --', 'some every', 'min max'];
const SWAPPED = new Map(
  PAIRS.map((pair) => pair.split(' ')).flatMap(([a, b]) => [
    [a, b],
    [b, a],
  ]),
);
const COMPARISON = /^[<>=!]=*$/;
/** Calls whose first argument decides. */
const LOOKUPS = /^(?:includes|startsWith|endsWith|has|get)$/;
const LOGS = /^(?:log|logger|console|say|warn|debug|trace)$/i;
const ERRORS = /(?:Error|NeedsHuman|Failure|Conflict|InvalidRequest|NotFound|Unavailable)$/;
/** Functions and fields whose value is only shown to people. */
const SHOWN = /(?:texts?|messages?|sentence|words|title|summary|description|label|hint|details?|reason)$/i;
const NOT_ENTERED = /^(?:ImportDeclaration|ExportAllDeclaration|TemplateLiteral|TaggedTemplateExpression)$/;
const TYPED_EXPRESSION = /^TS(?:As|Satisfies|NonNull)Expression$/;
/** Constants by the type that a function returns. */
const CONSTANTS = new Map([
  ['TSBooleanKeyword', ['true', 'false']],
  ['TSTypePredicate', ['true', 'false']],
  ['TSNumberKeyword', ['0']],
  ['TSStringKeyword', ["''"]],
  ['TSArrayType', ['[]']],
  ['TSNullKeyword', ['null']],
  ['TSUndefinedKeyword', ['undefined']],
]);

/**
 * @param file its ending tells the language
 * @returns `{ offset, old, text, what }` by offset: `old` at `offset` becomes `text`
 */
export function mutantsOf(file, source) {
  const { program, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`'${file}' cannot be parsed: ${errors[0].message}`);
  const textOf = ({ start, end }) => source.slice(start, end);
  return decisionsIn(program, [])
    .flatMap(([node, parents]) => changesOf(node, parents, textOf).map((change) => [node, ...change]))
    .map(([node, what, text, part = node]) => ({ offset: part.start, old: textOf(part), text, what }))
    .filter((mutant) => mutant.text !== mutant.old)
    .sort((a, b) => a.offset - b.offset);
}

/** Nodes that are part of a decision, each with the nodes around it, the nearest first. */
function decisionsIn(node, parents) {
  if (isLeftAlone(node)) return [];
  const children = Object.values(node)
    .flat()
    .filter((child) => typeof child?.type === 'string');
  return [[node, parents], ...children.flatMap((child) => decisionsIn(child, [node, ...parents]))];
}

function isLeftAlone(node) {
  if (node.type.startsWith('TS')) return !TYPED_EXPRESSION.test(node.type);
  if (node.type === 'NewExpression') return ERRORS.test(node.callee.name);
  if (node.type === 'CallExpression')
    return LOGS.test(node.callee.object?.name ?? node.callee.property?.name ?? node.callee.name);
  if (node.type === 'FunctionDeclaration') return SHOWN.test(node.id?.name);
  if (node.type === 'Property') return SHOWN.test(node.key.name) && !/Function/.test(node.value.type);
  return NOT_ENTERED.test(node.type);
}

/** Each as `[what, text, part]`; without a part the whole node is replaced. */
function changesOf(node, parents, textOf) {
  const { type, test, operator, argument } = node;
  switch (type) {
    case 'IfStatement':
    case 'ConditionalExpression':
      return [['forced', 'true', test], ['forced', 'false', test], ...negated(test, textOf)];
    case 'WhileStatement':
    case 'DoWhileStatement':
      return negated(test, textOf);
    case 'BinaryExpression':
    case 'LogicalExpression':
    case 'AssignmentExpression': {
      if (!SWAPPED.has(operator) || (operator.startsWith('+') && joinsText(node))) return [];
      const between = textOf({ start: node.left.end, end: node.right.start }).replace(operator, SWAPPED.get(operator));
      return [[`${operator} swapped`, textOf(node.left) + between + textOf(node.right)]];
    }
    case 'UpdateExpression':
      return [[`${operator} swapped`, textOf(node).replace(operator, SWAPPED.get(operator))]];
    case 'MemberExpression': {
      const { name } = node.property;
      return parents[0].callee === node && SWAPPED.has(name)
        ? [[`${name} swapped`, SWAPPED.get(name), node.property]]
        : [];
    }
    case 'UnaryExpression':
      return operator === '!' ? [['negation removed', textOf(argument)]] : [];
    case 'ExpressionStatement':
      return parents[0].type === 'Program' ? [] : [['removed', ';']];
    case 'ThrowStatement':
    case 'ContinueStatement':
      return [['removed', ';']];
    case 'ReturnStatement':
      return argument === null ? [['removed', ';']] : constants(argument, parents);
    case 'ArrowFunctionExpression':
      return node.body.type === 'BlockStatement' ? [] : constants(node.body, [node]);
    case 'Literal':
      return literals(node, parents, textOf);
    default:
      return [];
  }
}

/** A comparison is negated by its own operator. */
function negated(test, textOf) {
  return COMPARISON.test(test.operator) ? [] : [['negated', `!(${textOf(test)})`, test]];
}

function joinsText({ type, value, left, right }) {
  return (
    type === 'TemplateLiteral' ||
    typeof value === 'string' ||
    (left !== undefined && (joinsText(left) || joinsText(right)))
  );
}

/** Constants that the function around may return; none when its type is not written. */
function constants(part, parents) {
  const { returnType } = parents.find(({ type }) => /Function/.test(type)) ?? {};
  if (!returnType || part.type === 'Literal') return [];
  const texts = typesIn(returnType.typeAnnotation).flatMap((type) => CONSTANTS.get(type) ?? []);
  return texts.map((text) => [`${text} returned`, text, part]);
}

function typesIn({ type, types, typeAnnotation, typeName, typeArguments }) {
  if (type === 'TSUnionType') return types.flatMap(typesIn);
  if (type === 'TSTypeOperator') return typesIn(typeAnnotation);
  return typeName?.name === 'Promise' ? typeArguments.params.flatMap(typesIn) : [type];
}

/** Flags, numbers, and the strings that something is compared with, looked up by or answered with. */
function literals(node, [parent, grand], textOf) {
  const { value } = node;
  if (parent.key === node) return [];
  if (typeof value === 'boolean') return [['flipped', String(!value)]];
  if (typeof value === 'number') return [['changed', String(value + 1)]];
  if (typeof value !== 'string') return [];
  const isName = /^[\w./:-]+$/.test(value);
  const decides =
    COMPARISON.test(parent.operator) ||
    parent.type === 'SwitchCase' ||
    (isName && (parent.type === 'ConditionalExpression' || parent.type === 'ReturnStatement')) ||
    (parent.type === 'ArrayExpression' && grand.callee?.name === 'Set') ||
    (parent.arguments?.[0] === node && LOOKUPS.test(parent.callee.property?.name));
  return decides ? [['changed', textOf(node).length > 2 ? "''" : "'mutant'"]] : [];
}
