/**
 * Loaded into a server before its own program: whoever holds the token has a hostile name. There is one person and no account
 * yet, so nobody could choose it; every place that shows a name is to be ready for the day on which somebody can.
 */
import { LOCAL_CALLER } from '../../packages/orchestrator/src/server/access/token.ts';
import { NAME } from './hostile-words.ts';

Object.assign(LOCAL_CALLER, { userId: NAME });
