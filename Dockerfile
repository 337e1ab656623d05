# The program `eventcargo` in a container, with the tested versions of what it needs.
# docs/install.md says how to build and use it.
FROM python:3.12-slim AS build
WORKDIR /source
ARG EXTRAS=meds
ARG PIP_EXTRA_INDEX_URL=""
RUN python -m venv /opt/eventcargo
ENV PATH=/opt/eventcargo/bin:$PATH
COPY constraints.txt pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir -c constraints.txt ".[$EXTRAS]"

FROM python:3.12-slim
RUN useradd --create-home --uid 1000 eventcargo
COPY --from=build /opt/eventcargo /opt/eventcargo
ENV PATH=/opt/eventcargo/bin:$PATH PYTHONDONTWRITEBYTECODE=1
USER 1000
WORKDIR /data
ENTRYPOINT ["eventcargo"]
CMD ["--help"]
