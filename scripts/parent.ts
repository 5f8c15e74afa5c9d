/** Calls once when the process that started this one is gone. On Windows never: a process there keeps the number of its parent. */
export function whenParentIsGone(tell: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    tell();
  }, 500);
}
