/** A labelled field of a form, with what it is for below its label and what is wrong with it below the field. */
import { type ReactNode, useId } from 'react';

/** Attributes that tie a field to its label, its hint and its fault. */
export interface FieldProps {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': boolean | undefined;
}

export function FormField({
  label,
  hint,
  fault,
  isOptional = false,
  children,
}: {
  readonly label: string;
  readonly hint?: string | undefined;
  /** `null` where nothing is wrong. */
  readonly fault: string | null;
  /** Says that it may stay empty. */
  readonly isOptional?: boolean;
  readonly children: (field: FieldProps) => ReactNode;
}) {
  const id = useId();
  const about = [...(hint === undefined ? [] : [`${id}-hint`]), ...(fault === null ? [] : [`${id}-fault`])];
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {isOptional && <span className="quiet"> (may stay empty)</span>}
      </label>
      {hint !== undefined && (
        <span id={`${id}-hint`} className="quiet">
          {hint}
        </span>
      )}
      {children({
        id,
        'aria-describedby': about.length === 0 ? undefined : about.join(' '),
        'aria-invalid': fault === null ? undefined : true,
      })}
      {fault !== null && (
        <span id={`${id}-fault`} className="fault">
          {fault}
        </span>
      )}
    </div>
  );
}
