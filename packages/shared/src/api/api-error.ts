/** Errors that calls of the client throw. */
import type { ErrorCode, ProblemDetails } from '../errors.ts';

/** The server refused or failed; `problem` says why in its own words. */
export class ApiError extends Error {
  readonly problem: ProblemDetails;

  constructor(problem: ProblemDetails) {
    super(problem.detail);
    this.name = 'ApiError';
    this.problem = problem;
  }

  get status(): number {
    return this.problem.status;
  }

  get code(): ErrorCode {
    return this.problem.code;
  }
}

/** No server answered at the address. */
export class ServerUnreachable extends Error {
  readonly baseUrl: string;
  constructor(baseUrl: string, cause: unknown) {
    super(`No Autonomous server answers at ${baseUrl}.`, { cause });
    this.name = 'ServerUnreachable';
    this.baseUrl = baseUrl;
  }
}
