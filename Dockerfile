# docs/operating.md, "Containers".

FROM node:22-trixie AS frontend
WORKDIR /src
COPY missioncontrol/__init__.py missioncontrol/errors.py missioncontrol/
COPY missioncontrol/up missioncontrol/up
COPY frontend frontend
RUN python3 -m missioncontrol.up.frontend

FROM python:3.13-slim-trixie AS packages
WORKDIR /src
RUN python -m venv /opt/missioncontrol
ENV PATH=/opt/missioncontrol/bin:$PATH
COPY requirements.txt .
RUN pip install --no-cache-dir --require-hashes -r requirements.txt
COPY . .
COPY --from=frontend /src/frontend/dist frontend/dist
RUN pip install --no-cache-dir --no-deps ./guard .

FROM python:3.13-slim-trixie
# `missioncontrol backup` needs pg_dump, as new as compose.yaml's PostgreSQL.
RUN apt-get update \
    && apt-get install -y --no-install-recommends postgresql-client-17 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --home-dir /data --no-create-home --shell /usr/sbin/nologin missioncontrol \
    && install -d -o missioncontrol -g missioncontrol -m 700 /data
COPY --from=packages /opt/missioncontrol /opt/missioncontrol
ENV PATH=/opt/missioncontrol/bin:$PATH \
    MISSIONCONTROL_DATA=/data \
    PYTHONUNBUFFERED=1
VOLUME /data
# Daphne and Celery import from where they start: nobody can write here.
WORKDIR /
USER missioncontrol
EXPOSE 8765
STOPSIGNAL SIGTERM
# The first start on a busy machine takes a while. No proxy of the environment stands in between.
HEALTHCHECK --start-period=120s --interval=15s --timeout=10s \
    CMD ["python", "-c", "import http.client; c = http.client.HTTPConnection('127.0.0.1', 8765, timeout=8); c.request('GET', '/healthz'); exit(c.getresponse().status != 200)"]
CMD ["missioncontrol", "up", "--host", "0.0.0.0"]
