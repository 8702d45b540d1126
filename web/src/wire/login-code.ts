// The code with which a login ends, from what a person pasted: the code itself, or the address that has it.

export function codeIn(pasted: string): string {
  const text = pasted.trim();
  try {
    return new URL(text).searchParams.get("code") ?? text;
  } catch {
    return text;
  }
}
