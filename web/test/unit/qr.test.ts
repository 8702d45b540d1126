// The QR code is read back by another reading of the standard: format, mask, path, blocks, corrections, bytes.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Modules, corrections, qrCode } from "../../src/panel/qr.ts";

/** The fifteen bits of level M by mask, as the standard prints them. */
const FORMATS = ["101010000010010", "101000100100101", "101111001111100", "101101101001011", "100010111111001", "100000011001110", "100111110010111", "100101010100000"];
/** Data codewords in each block of level M, by version. */
const SHAPES: Readonly<Record<number, readonly number[]>> = {
  1: [16], 2: [28], 3: [44], 4: [32, 32], 5: [43, 43], 6: [27, 27, 27, 27], 7: [31, 31, 31, 31], 8: [38, 38, 39, 39], 9: [36, 36, 36, 37, 37], 10: [43, 43, 43, 43, 44],
};
const CHECKS: Readonly<Record<number, number>> = { 1: 10, 2: 16, 3: 26, 4: 18, 5: 24, 6: 16, 7: 18, 8: 22, 9: 22, 10: 26 };
const ALIGNED: Readonly<Record<number, readonly number[]>> = { 1: [], 2: [6, 18], 3: [6, 22], 4: [6, 26], 5: [6, 30], 6: [6, 34], 7: [6, 22, 38], 8: [6, 24, 42], 9: [6, 26, 46], 10: [6, 28, 50] };

/** Which modules are turned around, by mask, row and column. */
const MASKED: readonly ((i: number, j: number) => boolean)[] = [
  (i, j) => (i + j) % 2 === 0,
  (i) => i % 2 === 0,
  (_, j) => j % 3 === 0,
  (i, j) => (i + j) % 3 === 0,
  (i, j) => ((i >> 1) + Math.trunc(j / 3)) % 2 === 0,
  (i, j) => ((i * j) & 1) + ((i * j) % 3) === 0,
  (i, j) => ((((i * j) & 1) + ((i * j) % 3)) & 1) === 0,
  (i, j) => ((((i + j) & 1) + ((i * j) % 3)) & 1) === 0,
];

function read(modules: Modules): string {
  const size = modules.length;
  const version = (size - 17) / 4;
  const at = (x: number, y: number) => modules[y]?.[x] === true;
  const places = [[0, 8], [1, 8], [2, 8], [3, 8], [4, 8], [5, 8], [7, 8], [8, 8], [8, 7], [8, 5], [8, 4], [8, 3], [8, 2], [8, 1], [8, 0]] as const;
  const format = places.map(([x, y]) => (at(x, y) ? "1" : "0")).join("");
  const mask = FORMATS.indexOf(format);
  assert.ok(mask >= 0, `no format of level M: ${format}`);
  const lines = ALIGNED[version] ?? [];
  const isFixed = (x: number, y: number) => {
    const isCorner = (x <= 8 && y <= 8) || (x >= size - 8 && y <= 8) || (x <= 8 && y >= size - 8);
    const isVersion = version >= 7 && ((x >= size - 11 && y <= 5) || (y >= size - 11 && x <= 5));
    const hitsCorner = (a: number, b: number) => (a === 6 && b === 6) || (a === 6 && b === size - 7) || (a === size - 7 && b === 6);
    const isAligned = lines.some((a) => lines.some((b) => !hitsCorner(a, b) && Math.abs(x - a) <= 2 && Math.abs(y - b) <= 2));
    return isCorner || isVersion || isAligned || x === 6 || y === 6;
  };
  const bits: number[] = [];
  let isUp = true;
  for (let column = size - 1; column > 0; column -= 2) {
    if (column === 6) column -= 1;
    for (let step = 0; step < size; step += 1) {
      const y = isUp ? size - 1 - step : step;
      for (const x of [column, column - 1]) if (!isFixed(x, y)) bits.push(at(x, y) !== MASKED[mask]?.(y, x) ? 1 : 0);
    }
    isUp = !isUp;
  }
  const words = Array.from({ length: Math.floor(bits.length / 8) }, (_, word) => Number.parseInt(bits.slice(word * 8, word * 8 + 8).join(""), 2));
  const shape = SHAPES[version] ?? [];
  const blocks = shape.map((): number[] => []);
  for (let i = 0; i < Math.max(...shape); i += 1) shape.forEach((length, block) => { if (i < length) blocks[block]?.push(words.shift() ?? -1); });
  const checks = shape.map((): number[] => []);
  for (let i = 0; i < (CHECKS[version] ?? 0); i += 1) for (const block of checks) block.push(words.shift() ?? -1);
  blocks.forEach((block, index) => assert.deepEqual(corrections(block, CHECKS[version] ?? 0), checks[index]));
  const stream = blocks.flat().map((word) => word.toString(2).padStart(8, "0")).join("");
  assert.equal(stream.slice(0, 4), "0100", "bytes");
  const wide = version < 10 ? 8 : 16;
  const length = Number.parseInt(stream.slice(4, 4 + wide), 2);
  const bytes = Array.from({ length }, (_, byte) => Number.parseInt(stream.slice(4 + wide + byte * 8, 12 + wide + byte * 8), 2));
  return new TextDecoder().decode(Uint8Array.from(bytes));
}

test("a link is read back from its code", () => {
  const link = `https://share.example/share/0gXw1a2b3c#stdy1.0gXw1a2b3c.0capability.${"s".repeat(43)}`;

  assert.equal(read(qrCode(link) ?? []), link);
});

test("any text that fits is read back", () => {
  fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 50 }), (text) => {
    assert.equal(read(qrCode(text) ?? []), text);
  }), { numRuns: 60 });
});

test("error correction is that of the standard's example", () => {
  const data = [32, 91, 11, 120, 209, 114, 220, 77, 67, 64, 236, 17, 236, 17, 236, 17];

  assert.deepEqual(corrections(data, 10), [196, 35, 39, 119, 235, 215, 231, 226, 93, 23]);
});

test("the version is written beside the corners from version 7 on", () => {
  const modules = qrCode("x".repeat(110)) ?? [];
  const size = modules.length;
  const bits = Array.from({ length: 18 }, (_, i) => (modules[Math.floor((17 - i) / 3)]?.[size - 11 + ((17 - i) % 3)] ? "1" : "0")).join("");

  assert.equal(size, 45);
  assert.equal(bits, "000111110010010100");
});

test("a text that does not fit has no code", () => {
  assert.equal(qrCode("x".repeat(667)), undefined);
  assert.equal(qrCode("x".repeat(666))?.length, 97);
});
