/** An error of the YAML library: its text repeats the place and goes on with the lines around it. */
interface Problem {
  readonly message: string;
  readonly linePos?: readonly { readonly line: number; readonly col: number }[];
}

/** `FILE:2:5 is neither YAML nor JSON: …`, in one line. @param from file, flag or variable that the text came from */
export function notYaml(from: string, { message, linePos }: Problem): string {
  const at = linePos?.[0];
  const place = at === undefined ? from : `${from}:${at.line}:${at.col}`;
  return `${place} is neither YAML nor JSON: ${message.split('\n')[0]!.replace(/ at line \d+, column \d+:?$/, '')}`;
}
