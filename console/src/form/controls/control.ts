import type { Facts } from '../facts.ts';

/** What every control is given. */
export interface ControlProps {
  readonly id: string;
  readonly label: string;
  readonly value: unknown;
  readonly facts: Facts;
  readonly required: boolean;
  readonly readOnly: boolean;
  readonly invalid: boolean;
  readonly describedBy?: string;
  readonly placeholder?: string;
  readonly pointer: string;
  /** In a group that has the name; the control then says it itself. */
  readonly alone?: boolean;
}
