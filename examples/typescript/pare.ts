// Repairs requests with one `pare fix --lines` that stays open. Needs nothing but Node.

import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

export class Pare {
  private readonly child: ChildProcess;
  private readonly lines: AsyncIterator<string>;
  private last: Promise<unknown> = Promise.resolve();

  constructor(...command: string[]) {
    this.child = spawn('pare', [...(command.length ? command : ['fix']), '--lines', '--json'], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.lines = createInterface({ input: this.child.stdout! })[Symbol.asyncIterator]();
  }

  /** The body, repaired; the same if there is nothing to repair. Requests wait for each other. */
  fix<Body extends object>(body: Body): Promise<Body> {
    const answer = this.last.then(async () => {
      this.child.stdin!.write(JSON.stringify(body) + '\n');
      const line = await this.lines.next();
      if (line.done) throw new Error('pare has ended');
      const said = JSON.parse(line.value);
      if (said?.error) throw new Error(said.error.message);
      return said as Body;
    });
    this.last = answer.catch(() => undefined);
    return answer;
  }

  close(): void {
    this.child.stdin!.end();
  }
}
