"""Histories of agent frameworks in a store: the OpenAI Agents SDK and LangChain.

Each needs its framework (``pip install talktree[openai-agents]``, ``talktree[langchain]``) and is imported by name.
"""
