FROM denoland/deno:2.9.6

WORKDIR /app
COPY deno.json deno.lock ./
COPY tools ./tools
COPY main.ts compose.ts config.ts own_options.ts ./
COPY src ./src
RUN deno install --frozen --entrypoint main.ts && deno cache --frozen main.ts && mkdir .selvage && chown deno:deno .selvage

USER deno
VOLUME /app/.selvage
EXPOSE 8000
HEALTHCHECK --interval=30s --start-period=30s --start-interval=1s \
  CMD ["deno", "eval", "--no-config", "Deno.exit((await fetch('http://127.0.0.1:8000/readyz')).ok ? 0 : 1)"]
# Only with SELVAGE_API_KEYS, or an auth in SELVAGE_CONFIG, does it listen for other machines.
CMD ["deno", "serve", "--quiet", "--v8-flags=--max-semi-space-size=16,--heap-growing-percent=20,--invocation-count-for-turbofan=1000", "-P=serve", "--cached-only", "--host", "0.0.0.0", "--port", "8000", "main.ts"]
