import { readFileSync } from 'node:fs';

const [, version] = /"version": "([^"]+)"/.exec(readFileSync('package.json', 'utf8')) ?? [];
console.log(`Released notes ${version ?? 'without a version'}`);
