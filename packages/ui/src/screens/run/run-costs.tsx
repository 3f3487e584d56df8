/** Cost of a run with its child runs. */
import { moneyText, type RunView, type Spending, totalSpending } from '@autonomous/shared';
import { useFamily } from '../child-runs.tsx';

export function RunCosts({ run }: { readonly run: RunView }) {
  const family = useFamily(run);
  const children = family.length - 1;
  return (
    <>
      <h2>
        Cost{' '}
        {children > 0 && (
          <span className="quiet">with {children === 1 ? '1 child run' : `${children} child runs`}</span>
        )}
      </h2>
      <Amounts of={totalSpending(family.map(({ cost }) => cost))} />
      {children > 0 && (
        <p className="quiet">
          The run itself: {moneyText(run.cost)}, {tokensText(run.cost)} tokens, {callsText(run.cost)}.
        </p>
      )}
    </>
  );
}

function Amounts({ of }: { readonly of: Spending }) {
  return (
    <dl className="cost">
      <dt>Money</dt>
      <dd>{moneyText(of)}</dd>
      <dt>Tokens</dt>
      <dd>{tokensText(of)}</dd>
      <dt>Calls</dt>
      <dd>{callsText(of)}</dd>
    </dl>
  );
}

function tokensText({ inputTokens, outputTokens }: Spending): string {
  return `${inputTokens.toLocaleString()} in, ${outputTokens.toLocaleString()} out`;
}

function callsText({ calls, toolCalls }: Spending): string {
  return `${calls} of models${toolCalls === undefined ? '' : `, ${toolCalls} of tools`}`;
}
