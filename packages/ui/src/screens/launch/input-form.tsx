/** The fields of a workflow's own input. */
import type { Fault } from '@autonomous/shared';
import { type InputField, type InputTexts, pathOf } from '@autonomous/shared/presentation';
import { faultAt } from '../../launch-faults.ts';
import { FormField } from './form-field.tsx';

export function InputForm({
  fields,
  texts,
  faults,
  onTexts,
}: {
  readonly fields: readonly InputField[];
  readonly texts: InputTexts;
  readonly faults: readonly Fault[];
  readonly onTexts: (texts: InputTexts) => void;
}) {
  return fields.map((field) => (
    <OneField
      key={field.name}
      field={field}
      text={texts[field.name]}
      fault={faultAt(faults, pathOf(field))}
      onText={(text) => onTexts({ ...texts, [field.name]: text })}
    />
  ));
}

/** Nobody corrects the spelling of a path. */
const PATH_PROPS = { className: 'code', spellCheck: false, autoComplete: 'off', autoCapitalize: 'off' } as const;

interface OneFieldProps {
  readonly field: InputField;
  readonly text: string | undefined;
  readonly fault: string | null;
  readonly onText: (text: string) => void;
}

function OneField({ field, text, fault, onText }: OneFieldProps) {
  const { title, description, isRequired, fallback } = field;
  const placeholder = fallback === undefined ? undefined : placeholderOf(fallback);
  if (field.kind === 'switch') return <Switch field={field} text={text} fault={fault} onText={onText} />;
  if (field.kind === 'choices') {
    const chosen = chosenIn(text ?? (fallback === undefined ? '' : JSON.stringify(fallback)));
    return (
      <fieldset className="options">
        <legend>{title}</legend>
        {description !== undefined && <span className="quiet">{description}</span>}
        {field.options.map((option) => (
          <label key={option}>
            <input
              type="checkbox"
              checked={chosen.includes(option)}
              onChange={({ target }) =>
                onText(JSON.stringify(target.checked ? [...chosen, option] : chosen.filter((each) => each !== option)))
              }
            />
            {option}
          </label>
        ))}
        {fault !== null && <span className="fault">{fault}</span>}
      </fieldset>
    );
  }
  return (
    <FormField label={title} hint={hintOf(field)} fault={fault} isOptional={!isRequired}>
      {(props) => {
        const common = { ...props, required: isRequired, placeholder, value: text ?? '' };
        switch (field.kind) {
          case 'choice':
            return (
              <select
                {...props}
                required={isRequired}
                value={text ?? (fallback === undefined ? '' : String(fallback))}
                onChange={({ target }) => onText(target.value)}
              >
                {(fallback === undefined || !isRequired) && <option value="">–</option>}
                {field.options.map((option) => (
                  <option key={option} value={String(option)}>
                    {option}
                  </option>
                ))}
              </select>
            );
          case 'number':
            return (
              <input
                {...common}
                type="number"
                step={field.isInteger ? 1 : 'any'}
                min={field.minimum}
                max={field.maximum}
                onChange={({ target }) => onText(target.value)}
              />
            );
          case 'text':
            return field.isLong ? (
              <textarea
                {...common}
                rows={5}
                maxLength={field.maxLength}
                onChange={({ target }) => onText(target.value)}
              />
            ) : (
              <input
                {...common}
                type="text"
                maxLength={field.maxLength}
                {...(field.repositoryFile === undefined ? {} : PATH_PROPS)}
                placeholder={placeholder ?? (field.repositoryFile === 'text/markdown' ? 'docs/plan.md' : undefined)}
                onChange={({ target }) => onText(target.value)}
              />
            );
          case 'list':
            return <textarea {...common} rows={3} onChange={({ target }) => onText(target.value)} />;
          case 'json':
            return (
              <textarea
                {...common}
                className="code"
                rows={6}
                spellCheck={false}
                onChange={({ target }) => onText(target.value)}
              />
            );
          default:
            return field satisfies never;
        }
      }}
    </FormField>
  );
}

function Switch({ field: { title, description, fallback }, text, fault, onText }: OneFieldProps) {
  const isOn = text === undefined ? fallback === true : text === 'true';
  return (
    <div className="field">
      <label className="switch">
        <input type="checkbox" checked={isOn} onChange={({ target }) => onText(String(target.checked))} />
        <span>
          {title}
          {description !== undefined && <span className="quiet hint">{description}</span>}
        </span>
      </label>
      {fault !== null && <span className="fault">{fault}</span>}
    </div>
  );
}

function hintOf(field: InputField): string | undefined {
  const how = field.kind === 'list' ? 'One a line.' : field.kind === 'json' ? 'As JSON.' : undefined;
  const texts = [field.description, how].filter((each) => each !== undefined);
  return texts.length === 0 ? undefined : texts.join(' ');
}

function placeholderOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : JSON.stringify(value);
}

function chosenIn(text: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(text === '' ? '[]' : text);
    return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
  } catch {
    return [];
  }
}
