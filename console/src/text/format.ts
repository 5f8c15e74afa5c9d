/** Numbers, times and sizes, as the language of the reader writes them. */
import { language } from './index.ts';

export const formatNumber = (value: number, digits = 3): string =>
  value.toLocaleString(language.value, { maximumFractionDigits: digits });

const units = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** "3 minutes ago", from `now` in milliseconds. */
export function formatAge(time: string | number | Date, now: number): string {
  const seconds = (new Date(time).getTime() - now) / 1_000;
  const [unit, length] = units.find(([, length]) => Math.abs(seconds) >= length) ?? (['second', 1] as const);
  const words = new Intl.RelativeTimeFormat(language.value, { numeric: 'auto', style: 'short' });
  return words.format(Math.trunc(seconds / length), unit);
}

/** "2 days, 3 hours": the two greatest units. */
export function formatDuration(seconds: number): string {
  const found = [...units, ['second', 1] as const].map(([unit, length], at, all) => {
    const above = all[at - 1]?.[1] ?? Number.POSITIVE_INFINITY;
    return { unit, count: Math.floor((seconds % above) / length) };
  });
  const first = found.findIndex(({ count }) => count > 0);
  const parts = (first < 0 ? found.slice(-1) : found.slice(first, first + 2)).filter(
    ({ count }, at) => count > 0 || at === 0,
  );
  const words = parts.map(({ unit, count }) =>
    count.toLocaleString(language.value, { style: 'unit', unit, unitDisplay: 'long' }),
  );
  return new Intl.ListFormat(language.value, { type: 'unit', style: 'long' }).format(words);
}

export function formatBytes(bytes: number): string {
  const steps = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'];
  const step = bytes < 1 ? 0 : Math.min(steps.length - 1, Math.floor(Math.log10(bytes) / 3));
  const style = { style: 'unit', unit: steps[step]!, unitDisplay: 'short', maximumFractionDigits: 1 } as const;
  return (bytes / 1_000 ** step).toLocaleString(language.value, style);
}
