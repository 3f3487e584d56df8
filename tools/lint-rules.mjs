/** Lint rules of this workspace that no linter brings along; loaded by `.oxlintrc.json`. */
import { linearExpressions } from './lint/slow-expressions.mjs';

const DIRECTIVE = /^\s*(?:oxlint|eslint)-disable/;
const REASON = /\s--\s+\S/;

/** `oxlint-disable` comments say why: `// oxlint-disable-next-line typescript/no-explicit-any -- the library's own type`. */
const reasonedDisable = {
  create(context) {
    return {
      Program(program) {
        for (const comment of program.comments ?? context.sourceCode.getAllComments()) {
          if (DIRECTIVE.test(comment.value) && !REASON.test(comment.value)) {
            context.report({
              loc: comment.loc,
              message: 'Say why the rule does not fit here: end the comment with " -- reason".',
            });
          }
        }
      },
    };
  },
};

/** What a module needs it imports from where it is made; only a package's entry passes other modules' exports on. */
const noReExport = {
  create(context) {
    const report = (node) => {
      if (node.source)
        context.report({
          node,
          message: 'Import this where it is used, from the file that makes it; only package entries re-export.',
        });
    };
    return { ExportAllDeclaration: report, ExportNamedDeclaration: report };
  },
};

export default {
  meta: { name: 'autonomous' },
  rules: { 'reasoned-disable': reasonedDisable, 'no-re-export': noReExport, 'linear-expressions': linearExpressions },
};
