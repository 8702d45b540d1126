// Models, agents and commands of a directory, asked for when a composer is first shown.

import { createEffect, createRoot, createSignal, on } from "solid-js";
import type { ModelRef, Session } from "../wire/types.ts";
import { api } from "./live.ts";
import { trackHints } from "./store.ts";

export interface Catalog {
  readonly models: readonly { readonly key: string; readonly name: string; readonly ref: ModelRef; readonly context: number; readonly variants: readonly string[] }[];
  readonly agents: readonly string[];
  readonly mentionable: readonly string[];
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly usual: string | undefined;
}

interface Providers {
  readonly providers: readonly { readonly id: string; readonly name: string; readonly models: Readonly<Record<string, { id: string; name: string; limit?: { context?: number }; variants?: Readonly<Record<string, unknown>> }>> }[];
  readonly default: Readonly<Record<string, string>>;
}
interface Agent {
  readonly name: string;
  readonly mode: string;
  readonly hidden?: boolean;
}
interface Command {
  readonly name: string;
  readonly description?: string;
}

interface Config {
  readonly model?: string;
  readonly share?: string;
  readonly enterprise?: { readonly url?: string };
}

const known = new Map<string, Promise<Catalog>>();
const configs = new Map<string, Promise<Config>>();

/** Grows when what was read may be wrong: settings were read anew, or an MCP server has other prompts. */
const [catalogAge, setCatalogAge] = createSignal(0);
export { catalogAge };
const outdated = () => trackHints("server.instance.disposed", "global.disposed", "mcp.tools.changed");
createRoot(() => createEffect(on(outdated, () => {
  known.clear();
  configs.clear();
  setCatalogAge((age) => age + 1);
}, { defer: true })));

/** What the settings of a directory say, asked for once. */
export function readConfig(directory: string | undefined): Promise<Config> {
  const name = directory ?? "";
  const found = configs.get(name) ?? api.get<Config>("/config", { directory });
  configs.set(name, found);
  found.catch(() => configs.delete(name));
  return found;
}

export function loadCatalog(directory: string | undefined): Promise<Catalog> {
  const name = directory ?? "";
  const found = known.get(name) ?? read(directory);
  known.set(name, found);
  found.catch(() => known.delete(name));
  return found;
}

async function read(directory: string | undefined): Promise<Catalog> {
  const [providers, agents, commands, config] = await Promise.all([
    api.get<Providers>("/config/providers", { directory }),
    api.get<Agent[]>("/agent", { directory }),
    api.get<Command[]>("/command", { directory }),
    readConfig(directory),
  ]);
  const models = providers.providers.flatMap((provider) =>
    Object.values(provider.models).map((model) => ({
      key: `${provider.id}/${model.id}`,
      name: providers.providers.length > 1 ? `${provider.name} ${model.name}` : model.name,
      ref: { providerID: provider.id, modelID: model.id },
      context: model.limit?.context ?? 0,
      variants: Object.keys(model.variants ?? {}),
    })),
  );
  const first = Object.entries(providers.default)[0];
  const visible = agents.filter((agent) => agent.hidden !== true);
  return {
    models,
    agents: visible.filter((agent) => agent.mode !== "subagent").map((agent) => agent.name),
    mentionable: visible.filter((agent) => agent.mode !== "primary").map((agent) => agent.name),
    commands: commands.map((command) => ({ name: command.name, description: command.description ?? "" })),
    usual: config.model ?? (first && `${first[0]}/${first[1]}`),
  };
}

/** What the next prompt uses: the one picked here, the session's own, or the server's usual one. */
export function chosenModel(catalog: Catalog | undefined, picked: string | undefined, session: Session | undefined): ModelRef | undefined {
  if (!catalog) return undefined;
  const own = session?.model && `${session.model.providerID}/${session.model.id}`;
  const wanted = [picked, own, catalog.usual].find((key) => key && catalog.models.some((model) => model.key === key));
  return catalog.models.find((model) => model.key === wanted)?.ref ?? catalog.models[0]?.ref;
}
