// What there is to know about a directory before the first prompt: its branch, the model, whether it has instructions.

import { loadCatalog } from "./catalog.ts";
import { api } from "./live.ts";

export interface DirectoryInfo {
  readonly branch: string;
  readonly model: string;
  /** The demo model answers three prompts of its own. */
  readonly isDemo: boolean;
  readonly hasInstructions: boolean;
}

const INSTRUCTIONS = new Set(["AGENTS.md", "CLAUDE.md", "CONTEXT.md"]);

/** Files of the directory itself that tell every session about the project. */
export async function readInstructions(directory: string | undefined): Promise<readonly string[]> {
  const files = await api.get<readonly { name: string }[]>("/file?path=.", { directory }).catch(() => []);
  return files.map((file) => file.name).filter((name) => INSTRUCTIONS.has(name));
}

/** What cannot be read is left out. */
export async function readDirectoryInfo(directory: string | undefined): Promise<DirectoryInfo> {
  const [vcs, instructions, catalog] = await Promise.all([
    api.get<{ branch?: string }>("/vcs", { directory }).catch(() => undefined),
    readInstructions(directory),
    loadCatalog(directory).catch(() => undefined),
  ]);
  const usual = catalog?.models.find((one) => one.key === catalog.usual) ?? catalog?.models[0];
  return {
    branch: vcs?.branch ?? "",
    model: usual?.name ?? "",
    isDemo: usual?.ref.providerID === "demo",
    hasInstructions: instructions.length > 0,
  };
}
