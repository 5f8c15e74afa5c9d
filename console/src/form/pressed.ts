/** Whether a pointer is pressed: what moves meanwhile would not be there for the click. */

/** A press whose end the browser does not tell, such as one that opens a native menu, milliseconds. */
const longest = 5_000;
let since: number | undefined;

addEventListener('pointerdown', () => (since = performance.now()), { capture: true });
for (const type of ['pointerup', 'pointercancel', 'keydown', 'change']) {
  addEventListener(type, () => (since = undefined), { capture: true });
}

export const isPressed = (): boolean => since !== undefined && performance.now() - since < longest;
