/** Bar charts as SVG, readable on light and dark pages. */

export interface Bar {
  readonly label: string;
  readonly value: number;
  readonly low: number;
  readonly high: number;
  /** Marked on the bar. */
  readonly goal?: number;
}

const [width, labelWidth, rowHeight, top] = [720, 190, 34, 44];

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** @param unit behind each value @param most the end of the scale */
export function barChart(title: string, bars: readonly Bar[], most: number, digits: number, unit = ''): string {
  const scale = (value: number): number => (Math.min(value, most) / most) * (width - labelWidth - 90);
  const rows = bars.map(({ label, value, low, high, goal }, row) => {
    const y = top + row * rowHeight;
    const spread = `M${labelWidth + scale(low)} ${y + 10}H${labelWidth + scale(high)}`;
    const x = goal === undefined ? 0 : labelWidth + scale(goal);
    return `  <text x="${labelWidth - 10}" y="${y + 15}" text-anchor="end">${escaped(label)}</text>
  <rect class="bar" x="${labelWidth}" y="${y}" width="${scale(value).toFixed(1)}" height="20" rx="3"/>
  <path class="spread" d="${spread}"/>${goal === undefined ? '' : `\n  <path class="goal" d="M${x.toFixed(1)} ${y - 4}v28"/>`}
  <text x="${labelWidth + Math.max(scale(high), scale(goal ?? 0)) + 8}" y="${y + 15}">${value.toFixed(digits)}${unit}</text>`;
  });
  const height = top + bars.length * rowHeight + 30;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="${escaped(title)}">
  <style>
    text { font: 13px system-ui, sans-serif; fill: #1f2328; } .title { font-weight: 600; font-size: 15px; } .note { font-size: 11px; fill: #59636e; }
    .bar { fill: #2f6feb; } .spread { stroke: #0b2a66; stroke-width: 2; } .goal { stroke: #d1242f; stroke-width: 2; stroke-dasharray: 3 2; }
    @media (prefers-color-scheme: dark) { text { fill: #e6edf3; } .note { fill: #9198a1; } .spread { stroke: #cfe0ff; } .goal { stroke: #ff7b72; } }
  </style>
  <text class="title" x="10" y="22">${escaped(title)}</text>
${rows.join('\n')}
  <text class="note" x="10" y="${height - 10}">Bar: median of all rounds; line on it: lowest to highest round; dashed: goal</text>
</svg>
`;
}
