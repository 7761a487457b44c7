import type { Listed } from "./list.js";

export function pareFilter(options?: Listed): (given: { modelData: { input: any[]; instructions?: string } }) => { input: any[]; instructions?: string };

interface Kept {
  getSessionId(): Promise<string>;
  getItems(limit?: number): Promise<any[]>;
  addItems(items: any[]): Promise<void>;
  popItem(): Promise<any>;
  clearSession(): Promise<void>;
}

export class PareSession implements Kept {
  constructor(session: Kept, options?: Listed);
  getSessionId(): Promise<string>;
  getItems(limit?: number): Promise<any[]>;
  addItems(items: any[]): Promise<void>;
  popItem(): Promise<any>;
  clearSession(): Promise<void>;
}
