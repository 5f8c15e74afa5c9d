/** Content negotiation (RFC 9110, section 12): media types, languages. */
import type { Locale } from '../../errors.ts';

/** Type of a `Content-Type` in lower case without parameters; '' when it is absent, or names another charset than UTF-8. */
export function mediaType(header: string | undefined): string {
  if (header === undefined) return '';
  const semicolon = header.indexOf(';');
  if (semicolon < 0) return header.trim().toLowerCase();
  const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(header)?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) return '';
  return header.slice(0, semicolon).trim().toLowerCase();
}

/** The offered type that an `Accept` prefers; the first offer when it names none of them or is absent. */
export function preferredType<const T extends string>(accept: string | undefined, offers: readonly [T, ...T[]]): T {
  if (accept === undefined || accept === '*/*') return offers[0];
  return preferred(accept, offers, (range, offer) => {
    if (range === offer) return 3;
    if (range.endsWith('/*') && offer.startsWith(range.slice(0, -1))) return 2;
    return range === '*/*' ? 1 : 0;
  });
}

/** What an `Accept-Encoding` takes best of what there is, the earlier offer where it takes two as well; `identity` when nothing else. */
export function preferredEncoding<T extends string>(accept: string | undefined, offers: readonly T[]): T | 'identity' {
  if (accept === undefined) return 'identity';
  const qualities = new Map(
    accept.split(',').map((part) => {
      const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
      return [name, qualityOf(parameters)];
    }),
  );
  let best: T | 'identity' = 'identity';
  // Not being compressed is taken unless something else is said, but is the last choice.
  let bestQuality = 0;
  for (const offer of offers) {
    const quality = qualities.get(offer) ?? qualities.get('*') ?? 0;
    if (quality > bestQuality) [best, bestQuality] = [offer, quality];
  }
  return (qualities.get('identity') ?? 0) > bestQuality ? 'identity' : best;
}

/** The language of an `Accept-Language`: Chinese or English, English when it names neither. */
export function preferredLocale(accept: string | undefined): Locale {
  if (accept === undefined) return 'en';
  return preferred(accept, ['en', 'zh'], (range, offer) => {
    if (range === offer || range.startsWith(`${offer}-`)) return 2;
    return range === '*' ? 1 : 0;
  });
}

/** For each offer its most specific range gives the quality; the highest wins, then the earlier range, then the earlier offer. */
function preferred<T extends string>(
  header: string,
  offers: readonly [T, ...T[]],
  specificity: (range: string, offer: T) => number,
): T {
  const ranges = header.split(',').map((part) => {
    const [range = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    return { range, quality: qualityOf(parameters) };
  });
  let best = offers[0];
  let bestQuality = 0;
  let bestPlace = Number.POSITIVE_INFINITY;
  for (const offer of offers) {
    let found = 0;
    let quality = 0;
    let place = Number.POSITIVE_INFINITY;
    for (const [index, range] of ranges.entries()) {
      const fit = specificity(range.range, offer);
      if (fit <= found) continue;
      found = fit;
      quality = range.quality;
      place = fit === 1 ? Number.POSITIVE_INFINITY : index;
    }
    if (quality > bestQuality || (quality === bestQuality && quality > 0 && place < bestPlace)) {
      best = offer;
      bestQuality = quality;
      bestPlace = place;
    }
  }
  return best;
}

function qualityOf(parameters: readonly string[]): number {
  const quality = parameters.find((text) => text.startsWith('q='));
  return quality === undefined ? 1 : Number(quality.slice(2)) || 0;
}
