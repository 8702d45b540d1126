// A QR code of a short text: bytes, error correction level M, versions 1 to 20 (666 bytes). ISO/IEC 18004.
//
// Pure. Not here: how it is drawn (`qr-code.tsx`).

/** Rows of modules; true is dark. */
export type Modules = readonly (readonly boolean[])[];

/** Of level M, by version: codewords of error correction in a block, and blocks. */
const CORRECTION = [0, 10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26];
const BLOCKS = [0, 1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16];
const VERSION_MAX = 20;
const LEVEL_M = 0;
const MASKS = 8;

/** Undefined when the text is too long. */
export function qrCode(text: string): Modules | undefined {
  const bytes = new TextEncoder().encode(text);
  const version = versionFor(bytes.length);
  if (version === undefined) return undefined;
  const words = interleaved(dataWords(bytes, version), version);
  const drawn = Array.from({ length: MASKS }, (_, mask) => draw(words, version, mask));
  return drawn.reduce((best, one) => (penalty(one) < penalty(best) ? one : best));
}

function versionFor(length: number): number | undefined {
  for (let version = 1; version <= VERSION_MAX; version += 1) {
    if (length * 8 + 4 + lengthBits(version) <= dataCount(version) * 8) return version;
  }
  return undefined;
}

const lengthBits = (version: number) => (version < 10 ? 8 : 16);

/** Codewords of a version, those of error correction included. */
function wordCount(version: number): number {
  let modules = (16 * version + 128) * version + 64;
  if (version >= 2) {
    const marks = alignment(version).length;
    modules -= (25 * marks - 10) * marks - 55;
  }
  if (version >= 7) modules -= 36;
  return Math.floor(modules / 8);
}

function dataCount(version: number): number {
  return wordCount(version) - (CORRECTION[version] ?? 0) * (BLOCKS[version] ?? 0);
}

/** Mode, length, bytes, and padding to the end. */
function dataWords(bytes: Uint8Array, version: number): number[] {
  const bits: number[] = [];
  const put = (value: number, count: number) => {
    for (let bit = count - 1; bit >= 0; bit -= 1) bits.push((value >> bit) & 1);
  };
  put(0b0100, 4);
  put(bytes.length, lengthBits(version));
  for (const byte of bytes) put(byte, 8);
  const room = dataCount(version) * 8;
  put(0, Math.min(4, room - bits.length));
  put(0, (8 - (bits.length % 8)) % 8);
  for (let pad = 0xec; bits.length < room; pad ^= 0xec ^ 0x11) put(pad, 8);
  return Array.from({ length: bits.length / 8 }, (_, at) => bits.slice(at * 8, at * 8 + 8).reduce((word, bit) => word * 2 + bit, 0));
}

/** Blocks side by side, so that a stain hurts each a little; the last blocks may be one longer. */
function interleaved(data: readonly number[], version: number): number[] {
  const blocks = BLOCKS[version] ?? 1;
  const short = Math.floor(data.length / blocks);
  const longer = data.length % blocks;
  const parts: number[][] = [];
  let from = 0;
  for (let at = 0; at < blocks; at += 1) {
    const length = short + (at >= blocks - longer ? 1 : 0);
    parts.push(data.slice(from, from + length));
    from += length;
  }
  const checks = parts.map((part) => corrections(part, CORRECTION[version] ?? 0));
  const turned = (rows: readonly (readonly number[])[], length: number) =>
    Array.from({ length }, (_, at) => rows.flatMap((row) => (at < row.length ? [row[at] ?? 0] : []))).flat();
  return [...turned(parts, short + 1), ...turned(checks, CORRECTION[version] ?? 0)];
}

/** The product in the field of 256 elements of the standard. */
function times(a: number, b: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit -= 1) {
    product = (product << 1) ^ ((product >> 7) * 0x11d);
    product ^= ((b >> bit) & 1) * a;
  }
  return product;
}

/** Reed and Solomon: the remainder of the data divided by the generator of this degree. */
export function corrections(data: readonly number[], count: number): number[] {
  const divisor = Array.from({ length: count }, (_, at): number => (at === count - 1 ? 1 : 0));
  let root = 1;
  for (let degree = 0; degree < count; degree += 1) {
    for (let at = 0; at < count; at += 1) divisor[at] = times(divisor[at] ?? 0, root) ^ (divisor[at + 1] ?? 0);
    root = times(root, 2);
  }
  const rest = new Array<number>(count).fill(0);
  for (const word of data) {
    const factor = word ^ (rest.shift() ?? 0);
    rest.push(0);
    for (let at = 0; at < count; at += 1) rest[at] = (rest[at] ?? 0) ^ times(divisor[at] ?? 0, factor);
  }
  return rest;
}

/** Rows and columns of the small squares. */
function alignment(version: number): number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.ceil((version * 4 + 4) / (count * 2 - 2)) * 2;
  const rest = Array.from({ length: count - 1 }, (_, at) => version * 4 + 10 - at * step);
  return [6, ...rest.reverse()];
}

function draw(words: readonly number[], version: number, mask: number): boolean[][] {
  const size = version * 4 + 17;
  const dark = Array.from({ length: size }, () => new Array<boolean>(size).fill(false));
  const fixed = Array.from({ length: size }, () => new Array<boolean>(size).fill(false));
  const set = (x: number, y: number, value: boolean) => {
    const row = dark[y];
    const held = fixed[y];
    if (!row || !held || x < 0 || x >= size) return;
    row[x] = value;
    held[x] = true;
  };
  drawMarks(set, version, size);
  drawFormat(set, mask, size);
  if (version >= 7) drawVersion(set, version, size);
  let bit = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    // The column of the timing pattern is passed over.
    const column = right <= 6 ? right - 1 : right;
    for (let step = 0; step < size; step += 1) {
      const isUpwards = ((column + 1) & 2) === 0;
      const y = isUpwards ? size - 1 - step : step;
      for (const x of [column, column - 1]) {
        const row = dark[y];
        if (!row || fixed[y]?.[x]) continue;
        const value = bit < words.length * 8 && (((words[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1) === 1;
        row[x] = value !== isMasked(mask, x, y);
        bit += 1;
      }
    }
  }
  return dark;
}

type SetModule = (x: number, y: number, value: boolean) => void;

function drawMarks(set: SetModule, version: number, size: number): void {
  for (let at = 0; at < size; at += 1) {
    set(6, at, at % 2 === 0);
    set(at, 6, at % 2 === 0);
  }
  const square = (middleX: number, middleY: number, reach: number, isDark: (distance: number) => boolean) => {
    for (let y = -reach; y <= reach; y += 1) {
      for (let x = -reach; x <= reach; x += 1) set(middleX + x, middleY + y, isDark(Math.max(Math.abs(x), Math.abs(y))));
    }
  };
  for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]] as const) square(x, y, 4, (distance) => distance !== 2 && distance !== 4);
  const places = alignment(version);
  const last = places.length - 1;
  places.forEach((x, column) =>
    places.forEach((y, row) => {
      const isCorner = (column === 0 && row === 0) || (column === 0 && row === last) || (column === last && row === 0);
      if (!isCorner) square(x, y, 2, (distance) => distance !== 1);
    }),
  );
}

/** The value and the remainder of its division: a code that bears a few errors. */
function protectedBits(value: number, count: number, generator: number): number {
  let rest = value;
  for (let at = 0; at < count; at += 1) rest = (rest << 1) ^ ((rest >> (count - 1)) * generator);
  return (value << count) | rest;
}

function drawFormat(set: SetModule, mask: number, size: number): void {
  const bits = protectedBits((LEVEL_M << 3) | mask, 10, 0x537) ^ 0x5412;
  const bit = (at: number) => ((bits >> at) & 1) === 1;
  for (let at = 0; at <= 5; at += 1) set(8, at, bit(at));
  set(8, 7, bit(6));
  set(8, 8, bit(7));
  set(7, 8, bit(8));
  for (let at = 9; at < 15; at += 1) set(14 - at, 8, bit(at));
  for (let at = 0; at < 8; at += 1) set(size - 1 - at, 8, bit(at));
  for (let at = 8; at < 15; at += 1) set(8, size - 15 + at, bit(at));
  set(8, size - 8, true);
}

function drawVersion(set: SetModule, version: number, size: number): void {
  const bits = protectedBits(version, 12, 0x1f25);
  for (let at = 0; at < 18; at += 1) {
    const value = ((bits >> at) & 1) === 1;
    const far = size - 11 + (at % 3);
    const near = Math.floor(at / 3);
    set(far, near, value);
    set(near, far, value);
  }
}

function isMasked(mask: number, x: number, y: number): boolean {
  switch (mask) {
    case 0:
      return (x + y) % 2 === 0;
    case 1:
      return y % 2 === 0;
    case 2:
      return x % 3 === 0;
    case 3:
      return (x + y) % 3 === 0;
    case 4:
      return (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0;
    case 5:
      return ((x * y) % 2) + ((x * y) % 3) === 0;
    case 6:
      return (((x * y) % 2) + ((x * y) % 3)) % 2 === 0;
    default:
      return (((x + y) % 2) + ((x * y) % 3)) % 2 === 0;
  }
}

/** How hard a camera finds it: long runs, full squares, what looks like a corner, and too much of one colour. */
function penalty(modules: Modules): number {
  const size = modules.length;
  const columns = Array.from({ length: size }, (_, x) => modules.map((row) => row[x] === true));
  let sum = 0;
  for (const lane of [...modules, ...columns]) {
    const text = lane.map((dark) => (dark ? "1" : "0")).join("");
    for (const run of text.match(/0{5,}|1{5,}/g) ?? []) sum += run.length - 2;
    for (const look of ["10111010000", "00001011101"]) {
      for (let at = text.indexOf(look); at >= 0; at = text.indexOf(look, at + 1)) sum += 40;
    }
  }
  let dark = 0;
  modules.forEach((row, y) =>
    row.forEach((value, x) => {
      if (value) dark += 1;
      const below = modules[y + 1];
      if (below && x + 1 < size && row[x + 1] === value && below[x] === value && below[x + 1] === value) sum += 3;
    }),
  );
  return sum + Math.floor(Math.abs(dark * 20 - size * size * 10) / (size * size)) * 10;
}
