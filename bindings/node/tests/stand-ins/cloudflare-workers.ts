/** As much of the platform as the lines of the tests touch: an object with a name and storage, which is a directory. */

export interface DurableObjectState {
  readonly id: { readonly name: string };
  readonly storage: { readonly directory: string };
}

export class DurableObject<Env = unknown> {
  protected readonly ctx: DurableObjectState;
  protected readonly env: Env;

  constructor(ctx: DurableObjectState, env: Env) {
    this.ctx = ctx;
    this.env = env;
  }
}
