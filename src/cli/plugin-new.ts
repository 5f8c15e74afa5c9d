export async function newPlugin(_name: string): Promise<string[]> {
  return [];
}
