# syntax=docker/dockerfile:1
# The server with its command line and its dashboard. The server runs its TypeScript as it is; only the page is built.

FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json pnpm-workspace.yaml pnpm-lock.yaml ./
COPY packages/orchestrator/package.json packages/orchestrator/
COPY packages/shared/package.json packages/shared/
COPY packages/ui/package.json packages/ui/
COPY packages/vscode-extension/package.json packages/vscode-extension/
RUN npm install --global "$(node -p "require('./package.json').packageManager")" \
  && pnpm install --frozen-lockfile --prod --filter '@autonomous/orchestrator...'

FROM node:24-slim AS dashboard
WORKDIR /app
COPY package.json pnpm-workspace.yaml pnpm-lock.yaml ./
COPY packages/orchestrator/package.json packages/orchestrator/
COPY packages/shared packages/shared
COPY packages/ui packages/ui
COPY packages/vscode-extension/package.json packages/vscode-extension/
RUN npm install --global "$(node -p "require('./package.json').packageManager")" \
  && pnpm install --frozen-lockfile --filter '@autonomous/ui...' \
  && node packages/ui/build.mjs

FROM node:24-slim
# tini reaps what agents leave behind and hands signals on.
RUN apt-get update \
  && apt-get install -y --no-install-recommends bubblewrap ca-certificates git tini \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=dependencies /app ./
COPY LICENSE ./
COPY packages/shared packages/shared
COPY packages/orchestrator packages/orchestrator
COPY --from=dashboard /app/packages/ui/dist/app packages/ui/dist/app

# A loopback address inside a container is reached by nobody. The server refuses any other without AUTONOMOUS_TOKEN.
ENV NODE_ENV=production \
  ORCHESTRATOR_HOST=0.0.0.0 \
  ORCHESTRATOR_PORT=3001 \
  AUTONOMOUS_DATA=/data

# Mount a volume here: it holds the database, the git mirrors and the runs' work folders. (No VOLUME line: Railway refuses images that have one.)
RUN install --directory --owner=node --group=node --mode=0700 /data
USER node
EXPOSE 3001
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.ORCHESTRATOR_PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--"]
CMD ["node", "--max-semi-space-size=8", "packages/orchestrator/src/main.ts", "serve"]
