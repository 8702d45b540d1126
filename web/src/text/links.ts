// Which addresses of a text may be opened. Everything else stays text.

/** The address to open, or none. */
export function safeHref(text: string): string | undefined {
  // Browsers drop these before they look at the scheme.
  const plain = text.replaceAll(/[\u0000-\u0020\u007f-\u009f\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]/g, "");
  try {
    const url = new URL(plain);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}
