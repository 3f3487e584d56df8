/** Started with `node --import` of this file, a program finds the server's engine, XState and zod as custom workflows do. */
import { lendServerModules } from '../custom-workflows.ts';

lendServerModules(process.cwd());
