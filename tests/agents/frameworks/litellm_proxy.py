"""The LiteLLM proxy, with Mission Control's callback from its configuration file."""

import os
import sys
from pathlib import Path

from litellm.proxy.proxy_cli import run_server

CONFIGURED = f"""
model_list:
  - model_name: gpt-4o-mini
    litellm_params:
      model: openai/gpt-4o-mini
      api_base: {os.environ["OPENAI_BASE_URL"]}
      api_key: dummy
litellm_settings:
  callbacks: ["guard.adapters.litellm.proxy"]
"""

Path("config.yaml").write_text(CONFIGURED)
sys.argv = ["litellm", "--config", "config.yaml", "--host", "127.0.0.1", "--port", sys.argv[1]]
run_server()
