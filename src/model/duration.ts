const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds of a number (already milliseconds) or a text such as `250ms`, `15s`, `10m`, `1h`, `30d`; undefined for anything else. */
export function parseDuration(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? value : undefined;
  const parts = typeof value === 'string' ? /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$/.exec(value.trim()) : null;
  return parts ? Number(parts[1]) * units[(parts[2] ?? 'ms') as keyof typeof units] : undefined;
}

/** The shortest text that `parseDuration` reads as so many milliseconds. */
export function formatDuration(milliseconds: number): string {
  const unit =
    (['d', 'h', 'm', 's'] as const).find((one) => milliseconds > 0 && milliseconds % units[one] === 0) ?? 'ms';
  return `${milliseconds / units[unit]}${unit}`;
}
