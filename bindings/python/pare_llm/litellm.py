"""A hook for LiteLLM's proxy.

    litellm_settings:
      callbacks: pare_llm.litellm.hook
"""

from . import _mend

try:
    from litellm.integrations.custom_logger import CustomLogger
except ImportError:  # the proxy has it
    CustomLogger = object


class PareHook(CustomLogger):
    """Repairs requests in front of every provider, and makes them fit; options are those of fit."""

    def __init__(self, **options):
        super().__init__()
        self.options = options

    async def async_pre_call_hook(self, user_api_key_dict, cache, data, call_type):
        if isinstance(data.get("messages"), list):
            asked = {name: data[name] for name in ("model", "messages", "max_tokens", "tools") if name in data}
            now = _mend.body(asked, self.options)
            if now is not asked:
                data["messages"] = now["messages"]
        return data


hook = PareHook()
