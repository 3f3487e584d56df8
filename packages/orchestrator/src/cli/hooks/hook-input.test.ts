import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { parseHookInput, readStream } from './hook-input.ts';

/** As Claude Code 2 sends it, through @anthropic-ai/claude-agent-sdk 0.3.316. */
const SENT = {
  session_id: '5269c456-12cf-40d3-8b0a-22793bd899dd',
  transcript_path: '/home/me/.claude/projects/-home-me-shop/5269c456-12cf-40d3-8b0a-22793bd899dd.jsonl',
  cwd: '/home/me/shop',
  prompt_id: '0f78541e-c6d1-4c74-a2e1-cf2d31d6a2fa',
  permission_mode: 'default',
  effort: { level: 'medium' },
  hook_event_name: 'Stop',
  stop_hook_active: false,
  last_assistant_message: 'I stop here.',
  background_tasks: [],
  session_crons: [],
};

describe('the input of a Stop hook', () => {
  it('is read as Claude Code sends it', () => {
    expect(parseHookInput(`${JSON.stringify(SENT)}\n`)).toEqual({
      kind: 'stop',
      said: 'I stop here.',
      sessionId: SENT.session_id,
      promptId: SENT.prompt_id,
      isContinuation: false,
      cwd: '/home/me/shop',
      transcript: SENT.transcript_path,
    });
  });

  it('may lack each field, and have fields of another type', () => {
    const unknown = { promptId: null, cwd: null, transcript: null };
    expect(parseHookInput('{}')).toMatchObject({ kind: 'stop', said: null, sessionId: null, isContinuation: null });
    expect(parseHookInput('{"session_id": 7, "stop_hook_active": "yes", "cwd": [], "x": {}}')).toEqual({
      kind: 'stop',
      said: null,
      sessionId: null,
      isContinuation: null,
      ...unknown,
    });
  });

  it.each(['SubagentStop', 'PreToolUse'])('concerns nobody when the event is %s', (hook_event_name) => {
    expect(parseHookInput(JSON.stringify({ ...SENT, hook_event_name }))).toEqual({ kind: 'other' });
  });

  it.each(['', 'I stop here.\n', '["<promise>"]', '7'])('may be the plain text %j', (said) => {
    expect(parseHookInput(said)).toEqual({ kind: 'text', said });
  });

  it.each<[string, string | null]>([
    ['it begins with { and is not JSON', '{"session_id": "5'],
    ['it begins with { and is not JSON', `${'{"a":'.repeat(100_000)}`],
    ['it has more than 8 MB', null],
  ])('is unreadable when %s', (fault, input) => {
    expect(parseHookInput(input)).toEqual({ kind: 'unreadable', fault });
  });
});

describe('a stream', () => {
  it('is read as text, whatever its chunks', async () => {
    const bytes = Buffer.from('für 你');
    expect(await readStream(Readable.from([bytes.subarray(0, 2), bytes.subarray(2)]), 100)).toBe('für 你');
  });

  it('is read to its end when it is too long, and not kept', async () => {
    let read = 0;
    function* chunks() {
      for (; read < 10; read += 1) yield Buffer.alloc(100);
    }
    expect(await readStream(Readable.from(chunks()), 250)).toBeNull();
    expect(read).toBe(10);
  });
});
