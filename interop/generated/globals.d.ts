// What the program uses of node, without its package of types.
declare const process: { argv: string[]; cwd(): string };
