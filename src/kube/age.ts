/** Time that has passed, as `kubectl get` prints it: the two largest units while they tell something, else one. */
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/** @param milliseconds that have passed */
export function ageText(milliseconds: number): string {
  const passed = Math.max(0, milliseconds);
  if (passed < 2 * minute) return `${Math.floor(passed / second)}s`;
  if (passed < 10 * minute) return both(passed, minute, 'm', second, 's');
  if (passed < 3 * hour) return `${Math.floor(passed / minute)}m`;
  if (passed < 8 * hour) return both(passed, hour, 'h', minute, 'm');
  if (passed < 2 * day) return `${Math.floor(passed / hour)}h`;
  if (passed < 8 * day) return both(passed, day, 'd', hour, 'h');
  if (passed < 2 * year) return `${Math.floor(passed / day)}d`;
  if (passed < 8 * year) return both(passed, year, 'y', day, 'd');
  return `${Math.floor(passed / year)}y`;
}

function both(passed: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((passed % large) / small);
  return `${Math.floor(passed / large)}${largeName}${rest > 0 ? `${rest}${smallName}` : ''}`;
}
