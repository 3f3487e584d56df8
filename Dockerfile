# syntax=docker/dockerfile:1
# The server with its command line and its dashboard, from the package that is published.

FROM node:24-slim AS package
WORKDIR /source
COPY . .
RUN npm run --silent release -- --dry-run --only server --out /package \
  && mkdir /app \
  && tar --extract --file /package/*.tgz --directory /app --strip-components=1 \
  && chmod 0755 /app/bin/autonomous.js

FROM node:24-slim
# tini reaps what agents leave behind and hands signals on.
RUN apt-get update \
  && apt-get install -y --no-install-recommends bubblewrap ca-certificates git tini \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=package /app ./

# A loopback address inside a container is reached by nobody. The server refuses any other without AUTONOMOUS_TOKEN.
ENV NODE_ENV=production \
  ORCHESTRATOR_HOST=0.0.0.0 \
  ORCHESTRATOR_PORT=3001 \
  AUTONOMOUS_DATA=/data

# Mount a volume here: it holds the database, the git mirrors and the runs' work folders. (No VOLUME line: Railway refuses images that have one.)
RUN ln -s /app/bin/autonomous.js /usr/local/bin/autonomous \
  && install --directory --owner=node --group=node --mode=0700 /data
USER node
EXPOSE 3001
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.ORCHESTRATOR_PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--"]
CMD ["autonomous", "serve"]
