// Ids that the page makes for its own prompts, in the server's form. Nothing is ever sorted by them.

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_CHARS = 14;
let counter = 0;

export function newId(prefix: "msg" | "prt", now: number): string {
  counter = (counter + 1) % 4096;
  const word = (BigInt(now) * 4096n + BigInt(counter)) & 0xffff_ffff_ffffn;
  const random = crypto.getRandomValues(new Uint8Array(RANDOM_CHARS));
  const tail = Array.from(random, (byte) => ALPHABET[byte % ALPHABET.length]).join("");
  return `${prefix}_${word.toString(16).padStart(12, "0")}${tail}`;
}
