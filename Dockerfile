# One task of a clustersim cluster; which one, TF_CONFIG says. See docs/compose.md.
# No "# syntax=" line and no RUN --mount: the classic builder and BuildKit both take this file.
ARG BASE_IMAGE=python:3.12-slim

FROM ${BASE_IMAGE} AS build
# 1: take every wheel from wheels/ and ask no index. Empty: the usual index.
ARG PIP_NO_INDEX=
COPY wheels/ /src/wheels/
COPY pyproject.toml README.md LICENSE /src/
COPY clustersim/ /src/clustersim/
RUN python3 -m venv /opt/venv \
 && /opt/venv/bin/pip install --no-cache-dir --disable-pip-version-check \
      --find-links /src/wheels /src

FROM ${BASE_IMAGE}
COPY --from=build /opt/venv /opt/venv
COPY workers/ /app/workers/
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /app
USER 10001:10001
ENTRYPOINT ["python3"]
CMD ["workers/train.py"]
