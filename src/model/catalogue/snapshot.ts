/**
 * Models and their prices, from @earendil-works/pi-ai 1.5.0 (MIT) and @cline/llms 0.0.86.
 * Written by scripts/model-catalogue.mjs.
 *
 * A line is: id, context window, longest answer, flags, then US dollars per million tokens of input, output, cache
 * reads and cache writes, then tiers (above:input:output…). Flags: i images, d PDF files, u audio, v video, s answers
 * that follow a JSON Schema, w not stated for it, r reasoning, followed by its levels (n minimal, l low, m medium,
 * h high, x xhigh, a max). A zero is not known; without prices, they are not known. All can call tools.
 */
export const snapshot = `
[openai]
chat-latest 400000 128000 irnlmh 5 30 0.5
gpt-4 8192 8192 - 30 60
gpt-4-turbo 128000 4096 i 10 30
gpt-4.1 1047576 32768 ids 2 8 0.5
gpt-4.1-mini 1047576 32768 ids 0.4 1.6 0.1
gpt-4.1-nano 1047576 32768 i 0.1 0.4 0.025
gpt-4o 128000 16384 ids 2.5 10 1.25
gpt-4o-2024-05-13 128000 4096 i 5 15
gpt-4o-2024-08-06 128000 16384 is 2.5 10 1.25
gpt-4o-2024-11-20 128000 16384 is 2.5 10 1.25
gpt-4o-mini 128000 16384 ids 0.15 0.6 0.075
gpt-5 400000 128000 isrnlmh 1.25 10 0.125
gpt-5-chat-latest 128000 16384 i 1.25 10 0.125
gpt-5-mini 400000 128000 isrnlmh 0.25 2 0.025
gpt-5-nano 400000 128000 isrnlmh 0.05 0.4 0.005
gpt-5-pro 400000 128000 isrh 15 120
gpt-5.1 400000 128000 isrlmh 1.25 10 0.125
gpt-5.2 400000 128000 isrlmhx 1.75 14 0.175
gpt-5.2-pro 400000 128000 iwrmhx 21 168
gpt-5.3-codex 400000 128000 idsrlmhx 1.75 14 0.175
gpt-5.3-codex-spark 128000 32000 idsrlmhx 1.75 14 0.175
gpt-5.4 272000 128000 idsrlmhx 2.5 15 0.25 272000:5:22.5:0.5
gpt-5.4-mini 400000 128000 isrlmhx 0.75 4.5 0.075
gpt-5.4-nano 400000 128000 isrlmhx 0.2 1.25 0.02
gpt-5.4-pro 1050000 128000 iwrmhx 30 180 272000:60:270
gpt-5.5 272000 128000 idsrlmhx 5 30 0.5 272000:10:45:1
gpt-5.5-pro 1050000 128000 idsrmhx 30 180 272000:60:270
gpt-5.6-cyber 400000 128000 irlmhxa 12.5 75 1.25 15.625
gpt-5.6-luna 272000 128000 idsrlmhxa 0.2 1.2 0.02 0.25 272000:0.4:1.8:0.04:0.5
gpt-5.6-sol 272000 128000 idsrlmhxa 4 20 0.4 5 272000:8:30:0.8:10
gpt-5.6-terra 272000 128000 idsrlmhxa 2 12 0.2 2.5 272000:4:18:0.4:5
gpt-6-astra 272000 128000 idsrlmhxa 10 50 1 12.5 272000:20:75:2:25
gpt-6-luna 272000 128000 idsrlmhxa 0.1 0.5 0.01 0.125 272000:0.2:0.75:0.02:0.25
gpt-6-sol 272000 128000 idsrlmhxa 2 10 0.2 2.5 272000:4:15:0.4:5
gpt-6.1-sol 272000 128000 irlmhxa 2 10 0.1 2.5 272000:4:15:0.2:5
gpt-6.1-terra 272000 128000 irlmhxa 1 5 0.05 1.25 272000:2:7.5:0.1:2.5
gpt-daybreak-blue-latest 1050000 128000 irlmhxa 4 20 0.4 5 272000:8:30:0.8:10
gpt-daybreak-red-latest 400000 128000 irlmhxa 12.5 75 1.25 15.625
o1 200000 100000 irlmh 15 60 7.5
o1-pro 200000 100000 irlmh 150 600
o3 200000 100000 idsrlmh 2 8 0.5
o3-mini 200000 100000 rlmh 1.1 4.4 0.55
o3-pro 200000 100000 isrlmh 20 80
o4-mini 200000 100000 irlmh 1.1 4.4 0.275
[anthropic]
claude-fable-5 1000000 128000 idsrnlmhxa 10 50 1 12.5
claude-fable-5-1 1000000 128000 idsrnlmhxa 10 50 0.25 12.5
claude-haiku-4-5 200000 64000 idsrnlmh 1 5 0.1 1.25
claude-haiku-4-5-20251001 200000 64000 idsrnlmh 1 5 0.1 1.25
claude-haiku-5-5 1000000 128000 irlmhxa 0.1 0.5 0.01 0.125 100000:0.5:2.5:0.05:0.625
claude-opus-4-5 200000 64000 idsrnlmh 5 25 0.5 6.25
claude-opus-4-5-20251101 200000 64000 idsrnlmh 5 25 0.5 6.25
claude-opus-4-6 1000000 128000 idsrnlmha 5 25 0.5 6.25
claude-opus-4-7 1000000 128000 idsrnlmhxa 5 25 0.5 6.25
claude-opus-4-8 1000000 128000 idsrnlmhxa 5 25 0.5 6.25
claude-opus-5 1000000 128000 idsrnlmhxa 5 25 0.5 6.25
claude-opus-5-5 1000000 128000 idsrlmhxa 4 20 0.2 5
claude-sonnet-4-5 200000 64000 idsrnlmh 3 15 0.3 3.75
claude-sonnet-4-5-20250929 200000 64000 idsrnlmh 3 15 0.3 3.75
claude-sonnet-4-6 1000000 128000 idsrnlmha 3 15 0.3 3.75
claude-sonnet-5 1000000 128000 idsrnlmhxa 2 10 0.2 2.5
claude-sonnet-5-5 1000000 128000 irlmhxa 2 10 0.1 2.5
[google]
deep-research-max-preview-04-2026 131072 65536 iduvwrnlmh 2 12 0.2 200000:4:18:0.4
deep-research-preview-04-2026 131072 65536 iduvwrnlmh 2 12 0.2 200000:4:18:0.4
gemini-2.5-computer-use-preview-10-2025 128000 64000 iwrnlmh 1.25 10 200000:2.5:15
gemini-2.5-flash 1048576 65536 iduvsrnlmh 0.3 2.5 0.03
gemini-2.5-flash-lite 1048576 65536 iduvsrnlmh 0.1 0.4 0.01
gemini-2.5-pro 1048576 65536 iduvsrnlmh 1.25 10 0.125 200000:2.5:15:0.25
gemini-3-flash-preview 1048576 65536 iduvsrnlmh 0.5 3 0.05
gemini-3.1-flash-lite 1048576 65536 iduvsrnlmh 0.25 1.5 0.025
gemini-3.1-flash-lite-preview 1048576 65536 irnlmh 0.25 1.5 0.025
gemini-3.1-pro-preview 1048576 65536 iduvsrlmh 2 12 0.2 200000:4:18:0.4
gemini-3.1-pro-preview-customtools 1048576 65536 iduvsrlmh 2 12 0.2 200000:4:18:0.4
gemini-3.5-flash 1048576 65536 iduvsrnlmh 1.5 9 0.15
gemini-3.5-flash-lite 1048576 65536 iduvsrnlmh 0.3 2.5 0.03
gemini-3.6-flash 1048576 65536 iduvsrnlmh 0.75 3.75 0.075
gemini-3.7-flash 1048576 65536 iduvsrlmh 0.75 3.75 0.075
gemini-3.8-flash 1048576 65536 iduvsrlmh 0.75 3.75 0.075
gemini-4-argon 1048576 32768 irlmh 2 10 0.1
gemini-flash-latest 1048576 65536 iduvsrnlmh 1.5 9 0.15
gemini-flash-lite-latest 1048576 65536 iduvsrnlmh 0.25 1.5 0.025
gemini-pro-latest 1048576 65536 irlmh 2 12 0.2 200000:4:18:0.4
gemini-robotics-er-2-preview 131072 65536 irnlmh 1 5 0.1
gemma-4-26b-a4b-it 262144 32768 isrnh
gemma-4-31b-it 262144 32768 isrnh
[vertex]
gemini-2.5-flash 1048576 65536 iduvwrnlmh 0.3 2.5 0.03
gemini-2.5-flash-lite 1048576 65536 iduvwrnlmh 0.1 0.4 0.01
gemini-2.5-pro 1048576 65536 iduvwrnlmh 1.25 10 0.125
gemini-3-flash-preview 1048576 65536 iduvsrnlmh 0.5 3 0.05
gemini-3.1-flash-lite 1048576 65536 iduvsrnlmh 0.25 1.5 0.025
gemini-3.1-pro-preview 1048576 65536 iduvsrlmh 2 12 0.2
gemini-3.1-pro-preview-customtools 1048576 65536 iduvsrlmh 2 12 0.2
gemini-3.5-flash 1048576 65536 iduvsrnlmh 1.5 9 0.15
gemini-3.5-flash-lite 1048576 65536 iduvsrnlmh 0.3 2.5 0.03
gemini-3.6-flash 1048576 65536 iduvsrnlmh 0.75 3.75 0.075
gemini-3.7-flash 1048576 65536 iduvsrlmh 0.75 3.75 0.075
gemini-3.8-flash 1048576 65536 iduvsrlmh 0.75 3.75 0.075
gemini-4-argon 1048576 65536 irlmh 2 10 0.1
[mistral]
codestral-2508 256000 8192 - 0.3 0.9 0.03
codestral-latest 256000 4096 w 0.3 0.9 0.03
deepseek-v4-1-flash-1017 1048576 128000 rlha 0.3 1.2 0.007
devstral-2512 262144 262144 - 0.4 2 0.04
devstral-latest 262144 262144 - 0.4 2 0.04
devstral-medium-latest 262144 262144 - 0.4 2 0.04
glm-5-2 1048576 131072 rha 1.4 4.4 0.14
labs-devstral-small-2512 256000 256000 i
labs-leanstral-1-5-1 262144 128000 irh
magistral-medium-latest 262144 16384 iwrh 2 5 0.2
ministral-14b-2512 262144 262144 i 0.2 0.2 0.02
ministral-3b-2512 131072 262144 i 0.1 0.1 0.01
ministral-3b-latest 131072 128000 iw 0.1 0.1 0.01
ministral-8b-2512 262144 262144 i 0.15 0.15 0.015
ministral-8b-latest 262144 128000 iw 0.15 0.15 0.015
mistral-large-2512 262144 262144 iw 0.5 1.5 0.05
mistral-large-4 1048576 262144 irlmh 0.7 2.1 0.07
mistral-large-4-0-8 1048576 262144 irlmh 0.7 2.1 0.07
mistral-large-latest 262144 262144 iw 0.5 1.5 0.05
mistral-medium-2505 131072 131072 iw 0.4 2 0.04
mistral-medium-2508 262144 262144 iw 0.4 2 0.04
mistral-medium-2604 262144 262144 isrh 1.5 7.5 0.15
mistral-medium-3.5 262144 262144 irh 1.5 7.5
mistral-medium-latest 262144 262144 isrh 1.5 7.5 0.15
mistral-small-2506 128000 16384 iw 0.1 0.3 0.01
mistral-small-2603 262144 256000 iwrh 0.15 0.6 0.015
mistral-small-latest 262144 256000 iwrh 0.15 0.6 0.015
open-mistral-nemo 128000 128000 - 0.15 0.15 0.015
pixtral-12b 128000 128000 iw 0.15 0.15 0.015
voxtral-small-2507 32768 32000 - 0.1 0.4 0.01
voxtral-small-latest 32768 32000 uw 0.1 0.4 0.01
zai-glm-5-2 1048576 131072 srha 1.4 4.4 0.14
zai-glm-5-3 1048576 131072 srlha 1.4 4.4 0.14
zai-glm-5-3-flash 1048576 131072 irlha 0.15 0.5 0.03
[xai]
grok-4.3 1000000 30000 idsrlmhx 1.25 2.5 0.2 200000:2.5:5:0.4
grok-4.5 500000 500000 idsrlmhx 2 6 0.3 200000:4:12:0.6
grok-4.6 500000 500000 idsrlmhx 2 6 0.5 200000:4:12:1
grok-4.7 500000 500000 idsrlmhx 2 6 0.5 200000:4:12:1
[deepseek]
deepseek-flash 1000000 384000 isrlha 0.3 1.2 0.006
deepseek-v4-pro 1000000 384000 srha 1.32 3.96 0.044
[groq]
llama-3.1-8b-instant 131072 131072 w 0.05 0.08
llama-3.3-70b-versatile 131072 32768 w 0.59 0.79
openai/gpt-oss-120b 131072 65536 srlmh 0.15 0.6 0.075
openai/gpt-oss-20b 131072 65536 srlmh 0.075 0.3 0.0375
openai/gpt-oss-safeguard-20b 131072 65536 srlmh 0.075 0.3 0.0375
qwen/qwen3.6-27b 131072 16384 isrh 0.6 3 0.3
qwen/qwen3.8-27b 131072 16384 isrlmh 0.8 4
[together]
MiniMaxAI/MiniMax-M3 524288 524288 isrh 0.3 1.2 0.06
Qwen/Qwen3.5-9B 262144 65536 isrh 0.17 0.25
Qwen/Qwen3.6-Plus 1000000 65536 wrh 0.5 3
Qwen/Qwen3.7-Max 1000000 131072 wrh 2.5 7.5 0.5
deepseek-ai/DeepSeek-V4-Pro-0813 1048576 384000 srh 1.32 3.96 0.13
deepseek-ai/DeepSeek-V4.1-Flash 1048576 384000 isrh 0.3 1.2 0.006
meta-models/Muse-Spark-Open-816B-A42B 1048576 131072 irh 1.25 4.25 0.15
moonshotai/Kimi-K3 1048576 131072 ivsrh 3 15 0.3
nvidia/NVIDIA-Nemotron-3.5-Super-VL 262144 262144 irh 0.15 0.5 0.02
openai/gpt-oss-120b 131072 131072 wrlmh 0.15 0.6
reflection/Beam-1.0-501B-A23B 1048576 131072 rh 0.4 1.2 0.04
thinkingmachines/Inkling 524288 131072 iusrh 1 4.05 0.17
zai-org/GLM-5.2 1048575 164000 srh 1.4 4.4 0.26
zai-org/GLM-5.3 1048575 262144 srh 1.4 4.4 0.26
zai-org/GLM-5.3-Flash 1048575 400000 ivsrh 0.15 0.5 0.03
[azure]
chat-latest 400000 128000 irnlmh 5 30 0.5
deepseek-v4-pro 1000000 384000 rlmh 1.925 3.828 0.165
gpt-4 8192 8192 - 30 60
gpt-4-turbo 128000 4096 i 10 30
gpt-4.1 1047576 32768 ids 2 8 0.5
gpt-4.1-mini 1047576 32768 ids 0.4 1.6 0.1
gpt-4.1-nano 1047576 32768 i 0.1 0.4 0.025
gpt-4o 128000 16384 ids 2.5 10 1.25
gpt-4o-2024-05-13 128000 4096 i 5 15
gpt-4o-2024-08-06 128000 16384 is 2.5 10 1.25
gpt-4o-2024-11-20 128000 16384 is 2.5 10 1.25
gpt-4o-mini 128000 16384 ids 0.15 0.6 0.075
gpt-5 400000 128000 isrnlmh 1.25 10 0.125
gpt-5-chat-latest 128000 16384 i 1.25 10 0.125
gpt-5-mini 400000 128000 isrnlmh 0.25 2 0.025
gpt-5-nano 400000 128000 isrnlmh 0.05 0.4 0.005
gpt-5-pro 400000 128000 isrnlmh 15 120
gpt-5.1 400000 128000 isrnlmh 1.25 10 0.125
gpt-5.2 400000 128000 isrnlmhx 1.75 14 0.175
gpt-5.2-pro 400000 128000 iwrnlmhx 21 168
gpt-5.3-codex 400000 128000 idsrnlmhx 1.75 14 0.175
gpt-5.3-codex-spark 128000 32000 idsrnlmhx 1.75 14 0.175
gpt-5.4 1050000 128000 idsrnlmhx 2.5 15 0.25
gpt-5.4-mini 400000 128000 isrnlmhx 0.75 4.5 0.075
gpt-5.4-nano 400000 128000 isrnlmhx 0.2 1.25 0.02
gpt-5.4-pro 1050000 128000 iwrnlmhx 30 180
gpt-5.5 1050000 128000 idsrnlmhx 5 30 0.5
gpt-5.5-pro 1050000 128000 idsrmhx 30 180
gpt-5.6-cyber 400000 128000 irnlmhxa 12.5 75 1.25 15.625
gpt-5.6-luna 1050000 128000 idsrnlmhxa 0.2 1.2 0.02 0.25
gpt-5.6-sol 1050000 128000 idsrnlmhxa 4 20 0.4 5
gpt-5.6-terra 1050000 128000 idsrnlmhxa 2 12 0.2 2.5
gpt-6-astra 272000 128000 idsrlmhxa 10 50 1 12.5
gpt-6-luna 272000 128000 idsrlmhxa 0.1 0.5 0.01 0.125
gpt-6-sol 272000 128000 idsrlmhxa 2 10 0.2 2.5
gpt-6.1-sol 272000 128000 irlmhxa 2 10 0.1 2.5
gpt-6.1-terra 272000 128000 irlmhxa 1 5 0.05 1.25
gpt-daybreak-blue-latest 1050000 128000 irnlmh 4 20 0.4 5
gpt-daybreak-red-latest 400000 128000 irnlmh 12.5 75 1.25 15.625
o1 200000 100000 irnlmh 15 60 7.5
o1-pro 200000 100000 irnlmh 150 600
o3 200000 100000 idsrnlmh 2 8 0.5
o3-mini 200000 100000 rnlmh 1.1 4.4 0.55
o3-pro 200000 100000 isrnlmh 20 80
o4-mini 200000 100000 irnlmh 1.1 4.4 0.275
[bedrock]
amazon.nova-2-lite-v1:0 1000000 65535 idvwrnlmh 0.33 2.75 0.0825 0.33
amazon.nova-lite-v1:0 300000 10000 idvw 0.06 0.24 0.015 0.06
amazon.nova-micro-v1:0 128000 10000 w 0.035 0.14 0.00875 0.035
amazon.nova-pro-v1:0 300000 10000 idvw 0.8 3.2 0.2 0.8
anthropic.claude-fable-5 1000000 128000 idwrnlmhxa 10 50 1 12.5
anthropic.claude-fable-5-1 1000000 128000 idwrnlmhxa 10 50 0.25 12.5
anthropic.claude-haiku-4-5-20251001-v1:0 200000 64000 idsrnlmh 1 5 0.1 1.25
anthropic.claude-haiku-5-5 1000000 128000 irnlmhxa 0.1 0.5 0.01 0.125 100000:0.5:2.5:0.05:0.625
anthropic.claude-opus-4-1-20250805-v1:0 200000 32000 irnlmh 15 75 1.5 18.75
anthropic.claude-opus-4-5-20251101-v1:0 200000 64000 idsrnlmh 5 25 0.5 6.25
anthropic.claude-opus-4-6-v1 1000000 128000 idsrnlmha 5.5 27.5 0.55 6.875
anthropic.claude-opus-4-7 1000000 128000 idwrnlmhxa 5 25 0.5 6.25
anthropic.claude-opus-4-8 1000000 128000 idwrnlmhxa 5 25 0.5 6.25
anthropic.claude-opus-5-5 1000000 128000 idwrnlmhxa 4 20 0.2 5
anthropic.claude-sonnet-4-5-20250929-v1:0 200000 64000 idsrnlmh 3 15 0.3 3.75
anthropic.claude-sonnet-4-6 1000000 128000 idsrnlmha 3.3 16.5 0.33 4.125
anthropic.claude-sonnet-5 1000000 128000 idwrnlmhxa 2 10 0.2 2.5
anthropic.claude-sonnet-5-5 1000000 128000 irnlmhxa 2 10 0.1 2.5
apac.amazon.nova-lite-v1:0 300000 10000 idvw 0.063 0.252 0.01575 0.063
apac.amazon.nova-micro-v1:0 128000 10000 w 0.037 0.148 0.00925 0.037
apac.amazon.nova-pro-v1:0 300000 10000 idvw 0.84 3.36 0.21 0.84
apac.anthropic.claude-sonnet-4-20250514-v1:0 200000 64000 irnlmh 3 15 0.3 3.75
au.anthropic.claude-haiku-4-5-20251001-v1:0 200000 64000 idsrnlmh 1.1 5.5 0.11 1.375
au.anthropic.claude-haiku-5-5 1000000 128000 irnlmhxa 0.11 0.55 0.011 0.1375 100000:0.55:2.75:0.055:0.6875
au.anthropic.claude-opus-4-7 1000000 128000 idwrnlmhxa 5.5 27.5 0.55 6.875
au.anthropic.claude-opus-4-8 1000000 128000 idwrnlmhxa 5.5 27.5 0.55 6.875
au.anthropic.claude-opus-5 1000000 128000 idwrnlmhxa 5.5 27.5 0.55 6.875
au.anthropic.claude-opus-5-5 1000000 128000 idwrnlmhxa 4.4 22 0.22 5.5
au.anthropic.claude-sonnet-4-5-20250929-v1:0 200000 64000 idsrnlmh 3.3 16.5 0.33 4.125
au.anthropic.claude-sonnet-5 1000000 128000 idwrnlmhxa 2.2 11 0.22 2.75
au.anthropic.claude-sonnet-5-5 1000000 128000 irnlmhxa 2.2 11 0.11 2.75
ca.amazon.nova-lite-v1:0 300000 10000 idvw 0.064 0.256 0.016 0.064
deepseek.v3-v1:0 163840 81920 srnlmh 0.58 1.68
deepseek.v3.2 163840 81920 srnlmh 0.62 1.85
eu.amazon.nova-2-lite-v1:0 1000000 65535 idvwrnlmh 0.374 3.157 0.0935 0.374
eu.amazon.nova-lite-v1:0 300000 10000 idvw 0.069 0.276 0.01725 0.069
eu.amazon.nova-micro-v1:0 128000 10000 w 0.04 0.16 0.01 0.04
eu.amazon.nova-pro-v1:0 300000 10000 idvw 0.92 3.68 0.23 0.92
eu.anthropic.claude-fable-5 1000000 128000 idwrnlmhxa 11 55 1.1 13.75
eu.anthropic.claude-haiku-4-5-20251001-v1:0 200000 64000 idsrnlmh 1.1 5.5 0.11 1.375
eu.anthropic.claude-haiku-5-5 1000000 128000 irnlmhxa 0.11 0.55 0.011 0.1375 100000:0.55:2.75:0.055:0.6875
eu.anthropic.claude-opus-4-5-20251101-v1:0 200000 64000 idsrnlmh 5.5 27.5 0.55 6.875
eu.anthropic.claude-opus-4-7 1000000 128000 idwrnlmhxa 5.5 27.5 0.55 6.875
eu.anthropic.claude-opus-4-8 1000000 128000 idwrnlmhxa 5.5 27.5 0.55 6.875
eu.anthropic.claude-opus-5 1000000 128000 idwrnlmhxa 5.5 27.5 0.55 6.875
eu.anthropic.claude-opus-5-5 1000000 128000 idwrnlmhxa 4.4 22 0.22 5.5
eu.anthropic.claude-sonnet-4-20250514-v1:0 200000 64000 irnlmh 3 15 0.3 3.75
eu.anthropic.claude-sonnet-4-5-20250929-v1:0 200000 64000 idsrnlmh 3.3 16.5 0.33 4.125
eu.anthropic.claude-sonnet-5 1000000 128000 idwrnlmhxa 2.2 11 0.22 2.75
eu.anthropic.claude-sonnet-5-5 1000000 128000 irnlmhxa 2.2 11 0.11 2.75
global.amazon.nova-2-lite-v1:0 1000000 65535 idvwrnlmh 0.3 2.5 0.075 0.3
global.anthropic.claude-opus-4-6-v1 1000000 128000 idsrnlmha 5 25 0.5 6.25
global.anthropic.claude-opus-5 1000000 128000 idwrnlmhxa 5 25 0.5 6.25
global.anthropic.claude-sonnet-4-20250514-v1:0 200000 64000 irnlmh 3 15 0.3 3.75
global.anthropic.claude-sonnet-4-6 1000000 128000 idsrnlmha 3 15 0.3 3.75
global.moonshotai.kimi-k3 1048576 128000 isrnlmh 3 15 0.3 3.75
global.openai.gpt-5.6-luna 1050000 128000 isrnlmhx 0.2 1.2 0.02 0.25 272000:0.4:1.8:0.04:0.5
global.openai.gpt-5.6-sol 1050000 128000 iwrnlmhx 4 20 0.4 5 272000:8:30:0.8:10
global.openai.gpt-5.6-terra 1050000 128000 iwrnlmhx 2 12 0.2 2.5 272000:4:18:0.4:5
global.openai.gpt-6-astra 1050000 128000 isrnlmhx 10 50 1 12.5 272000:20:75:2:25
global.openai.gpt-6-luna 1050000 128000 isrnlmhx 0.1 0.5 0.01 0.125 272000:0.2:0.75:0.02:0.25
global.openai.gpt-6-sol 1050000 128000 isrnlmhx 2 10 0.2 2.5 272000:4:15:0.4:5
global.openai.gpt-6.1-sol 1050000 128000 irnlmhx 2 10 0.1 2.5 272000:4:15:0.2:5
global.openai.gpt-6.1-terra 1050000 128000 irnlmhx 1 5 0.05 1.25 272000:2:7.5:0.1:2.5
global.xai.grok-4.6 500000 500000 iwrnlmh 2 6 0.5
global.xai.grok-4.7 500000 500000 irnlmh 2 6 0.5
global.zai.glm-5.3 1000000 128000 rnlmh 1.68 5.28 0.312 2.1
google.gemma-4-26b-a4b 262144 32768 ivsrnlmh 0.13 0.4
google.gemma-4-31b 262144 32768 ivsrnlmh 0.14 0.4
google.gemma-4-e2b 131072 8192 iuvsrnlmh 0.04 0.08
in.anthropic.claude-haiku-4-5-20251001-v1:0 200000 64000 irnlmh 1.1 5.5 0.11 1.375
in.anthropic.claude-opus-5 1000000 128000 irnlmhxa 5.5 27.5 0.55 6.875
in.anthropic.claude-sonnet-5 1000000 128000 irnlmhxa 2.2 11 0.22 2.75
in.openai.gpt-5.6-luna 1050000 128000 idsrnlmhx 0.22 1.32 0.022 0.275 272000:0.44:1.98:0.044:0.55
in.openai.gpt-5.6-terra 1050000 128000 idwrnlmhx 2.2 13.2 0.22 2.75 272000:4.4:19.8:0.44:5.5
jp.amazon.nova-2-lite-v1:0 1000000 65535 idvwrnlmh 0.396 3.311 0.099 0.396
jp.anthropic.claude-haiku-4-5-20251001-v1:0 200000 64000 idsrnlmh 1.1 5.5 0.11 1.375
jp.anthropic.claude-haiku-5-5 1000000 128000 irnlmhxa 0.11 0.55 0.011 0.1375 100000:0.55:2.75:0.055:0.6875
jp.anthropic.claude-opus-4-7 1000000 128000 idwrnlmhxa 5.5 27.5 0.55 6.875
jp.anthropic.claude-opus-4-8 1000000 128000 idwrnlmhxa 5.5 27.5 0.55 6.875
jp.anthropic.claude-opus-5 1000000 128000 idwrnlmhxa 5.5 27.5 0.55 6.875
jp.anthropic.claude-opus-5-5 1000000 128000 idwrnlmhxa 4.4 22 0.22 5.5
jp.anthropic.claude-sonnet-4-5-20250929-v1:0 200000 64000 idsrnlmh 3.3 16.5 0.33 4.125
jp.anthropic.claude-sonnet-5 1000000 128000 idwrnlmhxa 2.2 11 0.22 2.75
meta.llama3-1-70b-instruct-v1:0 128000 4096 w 0.72 0.72
meta.llama3-1-8b-instruct-v1:0 128000 4096 w 0.22 0.22
meta.llama3-3-70b-instruct-v1:0 128000 4096 w 0.72 0.72
meta.llama4-maverick-17b-instruct-v1:0 1000000 8192 iw 0.24 0.97
meta.llama4-scout-17b-instruct-v1:0 10000000 8192 iw 0.17 0.66
minimax.minimax-m2 204608 128000 srnlmh 0.3 1.2
minimax.minimax-m2.1 196608 131072 srnlmh 0.3 1.2
minimax.minimax-m2.5 196608 98304 srnlmh 0.3 1.2
mistral.devstral-2-123b 262144 8192 s 0.4 2
mistral.magistral-small-2509 128000 40000 isrnlmh 0.5 1.5
mistral.ministral-3-14b-instruct 128000 4096 is 0.2 0.2
mistral.ministral-3-3b-instruct 256000 8192 is 0.1 0.1
mistral.ministral-3-8b-instruct 128000 4096 is 0.15 0.15
mistral.mistral-large-3-675b-instruct 262144 8192 is 0.5 1.5
mistral.pixtral-large-2502-v1:0 128000 8192 iw 2 6
mistral.voxtral-mini-3b-2507 32768 4096 us 0.04 0.04
mistral.voxtral-small-24b-2507 32768 8192 us 0.1 0.3
moonshot.kimi-k2-thinking 262144 16000 srnlmh 0.6 2.5
moonshotai.kimi-k2.5 262144 16384 isrnlmh 0.6 3
nvidia.nemotron-nano-12b-v2 131072 8192 is 0.2 0.6
nvidia.nemotron-nano-3-30b 262144 8192 srnlmh 0.06 0.24
nvidia.nemotron-nano-9b-v2 131072 8192 s 0.06 0.23
nvidia.nemotron-super-3-120b 262144 131072 srnlmh 0.15 0.65
openai.gpt-5.4 1000000 128000 idsrnlmhx 2.75 16.5 0.275
openai.gpt-5.5 1000000 128000 idsrnlmhx 5.5 33 0.55
openai.gpt-5.6-luna 1050000 128000 idsrnlmhx 0.22 1.32 0.022 0.275 272000:0.44:1.98:0.044:0.55
openai.gpt-5.6-sol 1050000 128000 idsrnlmhx 4.4 22 0.44 5.5 272000:8.8:33:0.88:11
openai.gpt-5.6-terra 1050000 128000 idsrnlmhx 2.2 13.2 0.22 2.75 272000:4.4:19.8:0.44:5.5
openai.gpt-6-astra 1050000 128000 idsrnlmhx 11 55 1.1 13.75 272000:22:82.5:2.2:27.5
openai.gpt-6-luna 1050000 128000 idsrnlmhx 0.11 0.55 0.011 0.1375 272000:0.22:0.825:0.022:0.275
openai.gpt-6-sol 1050000 128000 idsrnlmhx 2.2 11 0.22 2.75 272000:4.4:16.5:0.44:5.5
openai.gpt-6.1-sol 1050000 128000 irnlmhx 2.2 11 0.11 2.75 272000:4.4:16.5:0.22:5.5
openai.gpt-6.1-terra 1050000 128000 irnlmhx 1.1 5.5 0.055 1.375 272000:2.2:8.25:0.11:2.75
openai.gpt-oss-120b 131072 131072 srnlmh 0.15 0.6
openai.gpt-oss-120b-1:0 131072 128000 srnlmh 0.15 0.6
openai.gpt-oss-20b 131072 131072 srnlmh 0.07 0.3
openai.gpt-oss-20b-1:0 131072 128000 srnlmh 0.07 0.3
openai.gpt-oss-safeguard-120b 128000 16384 srnlmh 0.15 0.6
openai.gpt-oss-safeguard-20b 128000 16384 srnlmh 0.07 0.2
qwen.qwen3-235b-a22b-2507-v1:0 262144 131072 s 0.22 0.88
qwen.qwen3-32b-v1:0 32768 16384 srnlmh 0.15 0.6
qwen.qwen3-coder-30b-a3b-v1:0 262144 131072 s 0.15 0.6
qwen.qwen3-coder-480b-a35b-v1:0 131072 65536 s 0.45 1.8
qwen.qwen3-coder-next 262144 65536 s 0.5 1.2
qwen.qwen3-next-80b-a3b 262144 262000 s 0.15 1.2
qwen.qwen3-vl-235b-a22b 262144 262000 is 0.53 2.66
us-gov.openai.gpt-oss-120b-1:0 128000 16384 srnlmh 0.18 0.72
us-gov.openai.gpt-oss-20b-1:0 128000 16384 srnlmh 0.084 0.36
us.amazon.nova-premier-v1:0 1000000 10000 i 2.5 12.5 0.625 2.5
us.anthropic.claude-fable-5 1000000 128000 idwrnlmhxa 11 55 1.1 13.75
us.anthropic.claude-fable-5-1 1000000 128000 idwrnlmhxa 11 55 0.275 13.75
us.anthropic.claude-haiku-4-5-20251001-v1:0 200000 64000 idsrnlmh 1.1 5.5 0.11 1.375
us.anthropic.claude-haiku-5-5 1000000 128000 irnlmhxa 0.11 0.55 0.011 0.1375 100000:0.55:2.75:0.055:0.6875
us.anthropic.claude-opus-4-5-20251101-v1:0 200000 64000 idsrnlmh 5.5 27.5 0.55 6.875
us.anthropic.claude-opus-4-7 1000000 128000 idwrnlmhxa 5.5 27.5 0.55 6.875
us.anthropic.claude-opus-4-8 1000000 128000 idwrnlmhxa 5.5 27.5 0.55 6.875
us.anthropic.claude-opus-5 1000000 128000 idwrnlmhxa 5.5 27.5 0.55 6.875
us.anthropic.claude-opus-5-5 1000000 128000 idwrnlmhxa 4.4 22 0.22 5.5
us.anthropic.claude-sonnet-4-20250514-v1:0 200000 64000 irnlmh 3 15 0.3 3.75
us.anthropic.claude-sonnet-4-5-20250929-v1:0 200000 64000 idsrnlmh 3.3 16.5 0.33 4.125
us.anthropic.claude-sonnet-5 1000000 128000 idwrnlmhxa 2.2 11 0.22 2.75
us.anthropic.claude-sonnet-5-5 1000000 128000 irnlmhxa 2.2 11 0.11 2.75
us.moonshotai.kimi-k3 1048576 128000 isrnlmh 3.3 16.5 0.33 4.125
us.openai.gpt-5.6-luna 1050000 128000 isrnlmhx 0.22 1.32 0.022 0.275 272000:0.44:1.98:0.044:0.55
us.openai.gpt-5.6-sol 1050000 128000 iwrnlmhx 4.4 22 0.44 5.5 272000:8.8:33:0.88:11
us.openai.gpt-5.6-terra 1050000 128000 iwrnlmhx 2.2 13.2 0.22 2.75 272000:4.4:19.8:0.44:5.5
us.openai.gpt-6-astra 1050000 128000 isrnlmhx 11 55 1.1 13.75 272000:22:82.5:2.2:27.5
us.openai.gpt-6-luna 1050000 128000 isrnlmhx 0.11 0.55 0.011 0.1375 272000:0.22:0.825:0.022:0.275
us.openai.gpt-6-sol 1050000 128000 isrnlmhx 2.2 11 0.22 2.75 272000:4.4:16.5:0.44:5.5
us.xai.grok-4.6 500000 500000 iwrnlmh 2.2 6.6 0.55
us.xai.grok-4.7 500000 500000 irnlmh 2.2 6.6 0.55
us.zai.glm-5.3 1000000 128000 rnlmh 1.848 5.808 0.3432 2.31
writer.palmyra-x4-v1:0 122880 8192 wrnlmh 2.5 10
writer.palmyra-x5-v1:0 1040000 8192 wrnlmh 0.6 6
xai.grok-4.3 1000000 131072 isrnlmh 1.25 2.5 0.2
xai.grok-4.6 500000 500000 isrnlmh 2.2 6.6 0.55
zai.glm-4.7 202752 131072 srnlmh 0.6 2.2
zai.glm-4.7-flash 202752 131072 srnlmh 0.07 0.4
zai.glm-5 202752 131072 srnlmh 1 3.2
[cerebras]
gpt-oss-120b 131072 40960 srlmh 0.35 0.75 0.35
qwen-3.8-27b 131072 40960 isrlmh 0.99 1.49 0.99
[fireworks]
accounts/fireworks/models/deepseek-v4p1-flash 1000000 384000 isrlha 0.3 1.2 0.006
accounts/fireworks/models/deepseek-v4p1-flash-1017 1000000 384000 irlha 0.3 1.2 0.006
accounts/fireworks/models/ember-1 1048576 131072 iwrlmha 3 15 0.3
accounts/fireworks/models/glm-5p3 1048573 262144 srlha 1.4 4.4 0.26
accounts/fireworks/models/glm-5p3-flash 1048573 131072 isrlha 0.15 0.5 0.03
accounts/fireworks/models/gpt-oss-120b 131072 32768 wrlmh 0.15 0.6 0.015
accounts/fireworks/models/inkling 1048576 1048576 iuwrnlmh 1 4.05 0.17
accounts/fireworks/models/kimi-k3 1048576 131072 isrlha 3 15 0.3
accounts/fireworks/models/minimax-m3 512000 512000 wrlmh 0.3 1.2 0.06
accounts/fireworks/models/minimax-m3p1-flash 1000000 512000 irlmhxa 0.15 0.6 0.015
accounts/fireworks/models/muse-spark-open 1048576 131072 irlmhx 1.25 4.25 0.15
accounts/fireworks/models/nemotron-3-ultra-nvfp4 262144 128000 wrnlmh 0.6 2.4 0.12
accounts/fireworks/models/nemotron-lightning-3p5-30b-a3b 262144 262144 srnlmh 0.05 0.2 0.01
accounts/fireworks/models/qwen3p8-2p4t-a95b 262144 131072 srlmx 2 6 0.25
accounts/fireworks/models/qwen3p8-max 262144 131072 iwrlmx 2 6 0.25
accounts/fireworks/routers/deepseek-flash-latest 1000000 384000 isrlha 0.3 1.2 0.006
accounts/fireworks/routers/deepseek-v4p1-flash-1017-spot 1000000 384000 irlha 0.21 0.84 0.0042
accounts/fireworks/routers/deepseek-v4p1-flash-spot 1000000 384000 irlha 0.21 0.84 0.0042
accounts/fireworks/routers/glm-5p3-fast 1048572 262144 srlha 2.1 6.6 0.39
accounts/fireworks/routers/glm-5p3-spot 1048573 262144 rlha 0.98 3.08 0.182
accounts/fireworks/routers/glm-fast-latest 1048572 262144 srlha 2.1 6.6 0.39
accounts/fireworks/routers/glm-flash-latest 1048573 131072 isrlha 0.15 0.5 0.03
accounts/fireworks/routers/glm-latest 1048573 262144 srlha 1.4 4.4 0.26
accounts/fireworks/routers/kimi-fast-latest 1048576 131072 isrlmha 4.5 22.5 0.45
accounts/fireworks/routers/kimi-k3-fast 1048576 131072 isrlha 4.5 22.5 0.45
accounts/fireworks/routers/kimi-k3-spot 1048576 131072 irlha 2.1 10.5 0.21
accounts/fireworks/routers/kimi-latest 1048576 131072 isrlmha 3 15 0.3
accounts/fireworks/routers/minimax-latest 512000 512000 wrlmh 0.3 1.2 0.06
accounts/fireworks/routers/qwen-max-latest 262144 131072 iwrlmx 2 6 0.25
[moonshot]
kimi-k2.6 262144 262144 ivsrnlmh 0.95 4 0.16
kimi-k2.7-code 262144 262144 ivsrnlmh 0.95 4 0.19
kimi-k2.7-code-highspeed 262144 262144 ivsrnlmh 1.9 8 0.38
kimi-k3 1048576 1048576 ivsrlha 3 15 0.3
kimi-k3.1-pro 1048576 1048576 irlha 2 10 0.2
kimi-k3.1-pro-highspeed 1048576 1048576 irlha 4 20 0.2
[glm]
glm-4.7 204800 131072 wrnlmh 0.6 2.2 0.11
glm-5-turbo 200000 131072 srnlmh 1.2 4 0.24
glm-5.2 1000000 131072 srha 1.4 4.4 0.26
glm-5.2-highspeed 1000000 131072 rha
glm-5.3 1000000 131072 srlha 1.4 4.4 0.26
glm-5.3-flash 1000000 131072 idvsrlha 0.15 0.5 0.03
glm-5.3-highspeed 1000000 131072 rlha
[openrouter]
aion-labs/aion-2.0 131072 32768 wrnlmh 0.8 1.6 0.2
aion-labs/aion-3.0 131072 32768 wrnlmh 3 6 0.75
aion-labs/aion-3.0-mini 131072 32768 wrnlmh 0.7 1.4 0.18
aion-labs/aion-3.5 262144 32768 wrlha 3 6 0.75
aion-labs/aion-3.5-mini 262144 32768 wrlha 0.7 1.4 0.18
amazon/nova-2-lite-v1 1000000 65535 idvwrnlmh 0.3 2.5
amazon/nova-lite-v1 300000 5120 iw 0.06 0.24
amazon/nova-micro-v1 128000 5120 w 0.035 0.14
amazon/nova-premier-v1 1000000 32000 iw 2.5 12.5 0.625
amazon/nova-pro-v1 300000 5120 iw 0.8 3.2
anthropic/claude-fable-5 1000000 128000 idsrlmhxa 10 50 1 12.5
anthropic/claude-fable-5.1 1000000 128000 idsrlmhxa 10 50 0.25 12.5
anthropic/claude-fable-5.1:batch 1000000 128000 irlmhxa 5 25 0.125 6.25
anthropic/claude-fable-5:batch 1000000 128000 irlmhxa 5 25 0.5 6.25
anthropic/claude-haiku-4.5 200000 64000 idsrnlmh 1 5 0.1 1.25
anthropic/claude-haiku-4.5:batch 200000 64000 irnlmh 0.5 2.5 0.05 0.625
anthropic/claude-haiku-5.5 1000000 128000 irlmhxa 0.1 0.5 0.01 0.125 100000:0.5:2.5:0.05:0.625
anthropic/claude-haiku-5.5:batch 1000000 128000 irlmhxa 0.05 0.25 0.005 0.0625 100000:0.25:1.25:0.025:0.3125
anthropic/claude-opus-4.1 200000 32000 idwrnlmh 15 75 1.5 18.75
anthropic/claude-opus-4.1:batch 200000 32000 irnlmh 7.5 37.5 0.75 9.375
anthropic/claude-opus-4.5 200000 64000 idsrnlmh 5 25 0.5 6.25
anthropic/claude-opus-4.5:batch 200000 64000 irnlmh 2.5 12.5 0.25 3.125
anthropic/claude-opus-4.6 1000000 128000 idsrlmha 5 25 0.5 6.25
anthropic/claude-opus-4.6:batch 1000000 128000 irlmha 2.5 12.5 0.25 3.125
anthropic/claude-opus-4.7 1000000 128000 idsrlmhxa 5 25 0.5 6.25
anthropic/claude-opus-4.7:batch 1000000 128000 irlmhxa 2.5 12.5 0.25 3.125
anthropic/claude-opus-4.8 1000000 128000 idsrlmhxa 5 25 0.5 6.25
anthropic/claude-opus-4.8:batch 1000000 128000 irlmhxa 2.5 12.5 0.25 3.125
anthropic/claude-opus-5 1000000 128000 idsrlmhxa 5 25 0.5 6.25
anthropic/claude-opus-5.5 1000000 128000 idsrlmhxa 4 20 0.2 5
anthropic/claude-opus-5.5:batch 1000000 128000 irlmhxa 2 10 0.1 2.5
anthropic/claude-opus-5:batch 1000000 128000 irlmhxa 2.5 12.5 0.25 3.125
anthropic/claude-sonnet-4.5 1000000 64000 idsrnlmh 3 15 0.3 3.75 200000:6:22.5:0.6:7.5
anthropic/claude-sonnet-4.5:batch 1000000 64000 irnlmh 1.5 7.5 0.15 1.875 200000:3:11.25:0.3:3.75
anthropic/claude-sonnet-4.6 1000000 128000 idsrlmha 3 15 0.3 3.75
anthropic/claude-sonnet-4.6:batch 1000000 128000 irlmha 1.5 7.5 0.15 1.875
anthropic/claude-sonnet-5 1000000 128000 idsrlmhxa 2 10 0.2 2.5
anthropic/claude-sonnet-5.5 1000000 128000 irlmhxa 2 10 0.1 2.5
anthropic/claude-sonnet-5.5:batch 1000000 128000 irlmhxa 1 5 0.05 1.25
anthropic/claude-sonnet-5:batch 1000000 128000 irlmhxa 1 5 0.1 1.25
auto 2000000 30000 irnlmh
bytedance-seed/seed-1.6 262144 32768 ivsrnlmh 0.25 2 128000:0.5:4
bytedance-seed/seed-1.6-flash 262144 32768 ivsrnlmh 0.075 0.3 128000:0.1:0.8
bytedance-seed/seed-2-1-turbo 262144 235929 ivsrnlmh 0.5 2.5
bytedance-seed/seed-2.0-code 262144 131072 ivsrlmh 0.5 3 128000:1:6
bytedance-seed/seed-2.0-lite 262144 131072 ivsrnlmh 0.25 2 128000:0.5:4
bytedance-seed/seed-2.0-mini 262144 131072 ivsrnlmh 0.1 0.4 128000:0.2:0.8
cohere/command-a-plus 192000 64000 isrnlmh 0.3 1.5 0.15
cohere/command-r-08-2024 128000 4000 s 0.15 0.6
cohere/command-r-plus-08-2024 128000 4000 s 2.5 10
cohere/north-mini-code:free 256000 64000 wrnlmh 0 0
deepseek/deepseek-chat 128000 16000 s 0.2574 1.0287
deepseek/deepseek-chat-v3-0324 128000 115200 s 0.29 1.14 0.11
deepseek/deepseek-chat-v3.1 163840 147456 srnlmh 0.25 0.95 0.13
deepseek/deepseek-r1-0528 163840 32768 srnlmh 0.5 2.15 0.35
deepseek/deepseek-v3.1-terminus 163840 147456 srnlmh 0.27 1
deepseek/deepseek-v3.2 163840 147456 srnlmh 0.26 0.38 0.13
deepseek/deepseek-v3.2-exp 163840 147456 srnlmh 0.27 0.41
deepseek/deepseek-v4-flash 1048575 943717 srhx 0.091 0.182 0.0182
deepseek/deepseek-v4-flash-0731 1048576 943718 srlha 0.119 0.238 0.0238
deepseek/deepseek-v4-flash-vision-exp 1048576 262144 isrlha 0.2156 0.6468 0.00686
deepseek/deepseek-v4-pro 1048576 393216 srhx 1.6 3.2 0.135
deepseek/deepseek-v4-pro-0813 1048576 943718 srlha 0.115 4 0.11
deepseek/deepseek-v4.1-flash 1048576 943718 isrlha 0.045 0.5 0.006
deepseek/deepseek-v4.1-flash-1017 1048576 393216 irlha 0.15 0.6 0.003
deepseek/deepseek-v4.1-flash:batch 1048576 384000 irlha 0.05 0.15 0.004
dots-studio/dots-3-note-preview:free 512000 460800 isrnlmh 0 0
elorian/glimpse 262144 256000 irnlmh 0.6 3 0.06
fireworks/ember-1 1048576 943718 irlha 3 15 0.3
google/gemini-2.5-flash 1048576 65535 iduvsrnlmh 0.3 2.5 0.03 0.083333
google/gemini-2.5-flash-lite 1048576 65535 iduvsrnlmh 0.1 0.4 0.01 0.083333
google/gemini-2.5-pro 1048576 65536 iduvsrnlmh 1.25 10 0.125 0.375 200000:2.5:15:0.25:0.375
google/gemini-2.5-pro-preview 1048576 65536 idusrnlmh 1.25 10 0.125 0.375 200000:2.5:15:0.25:0.375
google/gemini-3-flash-preview 1048576 65536 iduvsrnlmh 0.5 3 0.05 0.083333
google/gemini-3-flash-preview:batch 1048576 65536 irnlmh 0.25 1.5
google/gemini-3-pro-image 65536 32768 isrnlmh 2 12 0.2 0.375
google/gemini-3.1-flash-lite 1048576 65536 iduvsrnlmh 0.25 1.5 0.025 0.083333
google/gemini-3.1-flash-lite-preview 1048576 65536 iduvsrnlmh 0.25 1.5 0.025 0.083333
google/gemini-3.1-flash-lite:batch 1048576 65536 irnlmh 0.125 0.75 0.0125
google/gemini-3.1-pro-preview 1048576 65536 iduvsrlmh 2 12 0.2 0.375 200000:4:18:0.4:0.375
google/gemini-3.1-pro-preview-customtools 1048576 65536 iduvsrlmh 2 12 0.2 0.375 200000:4:18:0.4:0.375
google/gemini-3.1-pro-preview:batch 1048576 65536 irlmh 1 6 200000:2:9
google/gemini-3.5-flash 1048576 65536 iduvsrnlmh 1.5 9 0.15 0.083333
google/gemini-3.5-flash-lite 1048576 65536 iduvsrnlmh 0.3 2.5 0.03 0.083333
google/gemini-3.5-flash-lite:batch 1048576 65536 irnlmh 0.15 1.25 0.015
google/gemini-3.5-flash:batch 1048576 65536 irnlmh 0.75 4.5 0.075
google/gemini-3.6-flash 1048576 65536 iduvsrnlmh 0.75 3.75 0.075 0.041667
google/gemini-3.6-flash:batch 1048576 65536 irnlmh 0.375 1.875 0.0375 0.041667
google/gemini-3.7-flash 1048576 65536 iduvsrlmh 0.75 3.75 0.075 0.041667
google/gemini-3.7-flash:batch 1048576 65536 irlmh 0.375 1.875 0.0375 0.041667
google/gemini-3.8-flash 1048576 65536 iduvsrlmh 0.825 4.125 0.0825 0.041667
google/gemini-3.8-flash:batch 1048576 65536 irlmh 0.375 1.875 0.0375 0.041667
google/gemini-4-argon 1048576 943718 irlmh 2 10 0.1 0.1875
google/gemini-4-argon:batch 1048576 943718 irlmh 1 5 0.05 0.1875
google/gemini-nano-banana-2.1 65536 58982 irnh 1.5 7.5
google/gemma-3-12b-it 131072 16384 is 0.05 0.15
google/gemma-3-27b-it 131072 117964 is 0.08 0.35 0.04
google/gemma-4-26b-a4b-it 262144 32768 ivsrnlmh 0.074 0.223 0.037
google/gemma-4-26b-a4b-it:free 262144 32768 ivwrnlmh 0 0
google/gemma-4-31b-it 262144 16384 ivsrnlmh 0.2 0.4
google/gemma-4-31b-it:free 262144 32768 ivwrnlmh 0 0
ibm-granite/granite-4.2-8b 131072 117964 srlh 0.06 0.15 0.015
inception/mercury-2 128000 50000 srlmh 0.25 0.75 0.025
inception/mercury-2.5 260000 65536 srlmh 0.04 0.15 0.004
inception/mercury-3 1000000 131072 rlmh 0.1 0.35 0.01
inclusionai/ling-3.0-flash 262144 32768 wrnlmh 0.021 0.063 0.0042
inclusionai/ling-3.0-flash-vl 131072 32768 ivsrnlmh 0.06 0.18 0.012
inclusionai/ling-3.1-flash 1000000 262144 rnlmh 0.075 0.225 0.015
liquid/lfm-2.5-2.6b 128000 8192 rnlmh 0.35 0.5 0.04
liquid/lfm-2.5-2.6b:free 65536 8192 srnlmh 0 0
liquid/lfm-2.5-24b-a2b 128000 8192 rnlmh 0.05 0.7 0.025
meituan/longcat-2.0 1048756 262144 wrnlmh 0.3 1.2 0.006
meta-llama/llama-3.1-70b-instruct 131072 16384 s 0.4 0.4
meta-llama/llama-3.1-8b-instruct 131072 117964 s 0.05 0.08 0.025
meta-llama/llama-3.3-70b-instruct 131072 16384 s 0.1 0.32
meta-llama/llama-4-maverick 128000 16384 is 0.1875 0.6525 0.05
meta-llama/llama-4-scout 327680 16384 is 0.1 0.3
meta/muse-glimmer-30b 131072 16384 isrlmhx 0.3 1.2 0.04
meta/muse-spark-1.1 1048576 943718 iduvsrnlmhx 1.25 4.25 0.15
meta/muse-spark-1.2 1048576 943718 iduvsrnlmhx 1.25 4.25 0.15
meta/muse-spark-1.2-contributor 1048576 943718 iduvsrnlmhx 0.1 0.2 0.002
meta/muse-spark-1.3 1048576 943718 iduvsrnlmhxa 1.25 4.25 0.15
meta/muse-spark-1.3-contributor 1048576 943718 iduvsrnlmhxa 0.1 0.2 0.002
meta/muse-spark-open 1048576 943718 irlmhx 1.25 4.25 0.15
meta/muse-wonder 1048576 943718 irnlmhxa 4 20 0.2
minimax/minimax-m1 1000000 40000 wrnlmh 0.55 2.2
minimax/minimax-m2 204800 131072 srnlmh 0.255 1.02
minimax/minimax-m2.1 204800 131072 wrnlmh 0.3 1.2 0.03
minimax/minimax-m2.5 198000 32768 srnlmh 0.27 0.95 0.03
minimax/minimax-m2.7 204800 131072 srnlmh 0.3 1.2 0.06
minimax/minimax-m3 524288 512000 ivsrnlmh 0.3 1.2 0.06
minimax/minimax-m3.1-flash 1048576 524288 irlmhxa 0.15 0.6 0.015
mistralai/codestral-2508 256000 204800 ds 0.3 0.9 0.03
mistralai/devstral-2512 262144 209715 - 0.4 2 0.04
mistralai/ministral-14b-2512 262144 209715 is 0.2 0.2 0.02
mistralai/ministral-3b-2512 131072 104857 is 0.1 0.1 0.01
mistralai/ministral-8b-2512 262144 209715 is 0.15 0.15 0.015
mistralai/mistral-large 128000 102400 ds 2 6 0.2
mistralai/mistral-large-2407 131072 104857 ds 2 6 0.2
mistralai/mistral-large-2512 262144 209715 i 0.5 1.5 0.05
mistralai/mistral-large-4-0 1048576 262144 irh 0.7 2.1 0.07
mistralai/mistral-medium-3 131072 104857 ids 0.4 2 0.04
mistralai/mistral-medium-3-5 262144 209715 idsrh 1.5 7.5
mistralai/mistral-medium-3-5:batch 262144 209715 irh 0.75 3.75
mistralai/mistral-medium-3.1 131072 104857 ids 0.4 2 0.04
mistralai/mistral-nemo 131072 16384 s 0.029 0.03
mistralai/mistral-saba 32768 26214 ds 0.2 0.6 0.02
mistralai/mistral-small-2603 262144 209715 isrh 0.15 0.6 0.015
mistralai/mistral-small-3.1-24b-instruct 128000 102400 iw 0.351 0.555
mistralai/mistral-small-3.2-24b-instruct 128000 16384 is 0.075 0.2
mistralai/mixtral-8x22b-instruct 65536 52428 ds 2 6 0.2
mistralai/voxtral-small-24b-2507 32768 26214 dus 0.1 0.3 0.01
moonshotai/kimi-k2 131072 98304 w 0.57 2.3
moonshotai/kimi-k2-0905 262144 98304 s 0.6 2.5
moonshotai/kimi-k2-thinking 262144 98304 srnlmh 0.6 2.5 0.15
moonshotai/kimi-k2.5 262144 4096 isrnlmh 0.41 2.06 0.07
moonshotai/kimi-k2.6 262144 235929 isrnlmh 0.65 3.41 0.15
moonshotai/kimi-k2.7-code 262144 235929 isrnlmh 0.6 3.5 0.15
moonshotai/kimi-k3 1048576 131072 ivsrlha 0.192 15 0.182
moonshotai/kimi-k3.1-pro 1048576 131072 irlha 2 10 0.2
moonshotai/kimi-k3:batch 1048576 16384 irlha 2.28 11.4 0.228
nex-agi/nex-n2.5-pro 262144 235929 irmh 0.075 0.25 0.015
nvidia/nemotron-3-nano-30b-a3b 262144 235929 srnlmh 0.06 0.24 0.012
nvidia/nemotron-3-nano-omni-30b-a3b-reasoning:free 256000 65536 iuvwrnlmh 0 0
nvidia/nemotron-3-super-120b-a12b 1048576 262144 srlm 0.3 2.4 0.15
nvidia/nemotron-3-ultra-550b-a55b 202800 182520 srmh 0.6 2.4 0.12
nvidia/nemotron-3-ultra-550b-a55b:free 1000000 65536 wrmh 0 0
nvidia/nemotron-3.5-lightning 262144 235929 srnlmh 0.07 0.2 0.04
nvidia/nemotron-3.5-lightning:free 1000000 65536 wrnlmh 0 0
nvidia/nemotron-3.5-super-vl 262144 235929 irnlmh 0.15 0.5 0.02
nvidia/nemotron-3.5-super-vl:free 1000000 131072 irnlmh 0 0
openai/gpt-3.5-turbo-0613 4095 3685 s 1 2
openai/gpt-3.5-turbo-16k 16385 4096 s 3 4
openai/gpt-4 8191 4096 s 30 60
openai/gpt-4-turbo:batch 128000 4096 i 5 15
openai/gpt-4.1 1047576 32768 ids 2 8 0.5
openai/gpt-4.1-mini 1047576 32768 ids 0.4 1.6 0.1
openai/gpt-4.1-mini:batch 1047576 32768 i 0.2 0.8 0.05
openai/gpt-4.1-nano 1047576 942818 ids 0.1 0.4 0.03
openai/gpt-4.1-nano:batch 1047576 32768 i 0.05 0.2 0.0125
openai/gpt-4.1:batch 1047576 32768 i 1 4 0.25
openai/gpt-4o 128000 16384 ids 2.5 10 1.25
openai/gpt-4o-2024-05-13 128000 4096 ids 5 15
openai/gpt-4o-2024-08-06 128000 16384 ids 2.5 10 1.25
openai/gpt-4o-2024-11-20 128000 16384 ids 2.5 10 1.25
openai/gpt-4o-mini 128000 16384 ids 0.15 0.6 0.075
openai/gpt-4o-mini-2024-07-18 128000 16384 ids 0.15 0.6 0.075
openai/gpt-4o-mini:batch 128000 16384 i 0.075 0.3 0.0375
openai/gpt-4o:batch 128000 16384 i 1.25 5 0.625
openai/gpt-5 400000 128000 idsrnlmh 1.25 10 0.125
openai/gpt-5-mini 400000 128000 idsrnlmh 0.25 2 0.025
openai/gpt-5-mini:batch 400000 128000 irnlmh 0.125 1 0.0125
openai/gpt-5-nano 400000 128000 idsrnlmh 0.05 0.4 0.005
openai/gpt-5-nano:batch 400000 128000 irnlmh 0.025 0.2 0.0025
openai/gpt-5-pro 400000 128000 idsrh 15 120
openai/gpt-5-pro:batch 400000 128000 irh 7.5 60
openai/gpt-5.1 400000 128000 idsrlmh 1.25 10 0.125
openai/gpt-5.1-codex 400000 128000 isrlmh 1.25 10 0.13
openai/gpt-5.1-codex-max 400000 128000 isrlmhx 1.25 10 0.125
openai/gpt-5.1-codex-mini 400000 128000 isrlmh 0.25 2 0.03
openai/gpt-5.1:batch 400000 128000 irlmh 0.625 5 0.0625
openai/gpt-5.2 400000 128000 idsrlmhx 1.75 14 0.175
openai/gpt-5.2-chat 128000 32000 ids 1.75 14 0.175
openai/gpt-5.2-codex 400000 128000 isrlmhx 1.75 14 0.175
openai/gpt-5.2-pro 400000 128000 idsrmhx 21 168
openai/gpt-5.2-pro:batch 400000 128000 irmhx 10.5 84
openai/gpt-5.2:batch 400000 128000 irlmhx 0.875 7 0.0875
openai/gpt-5.3-codex 400000 128000 idsrlmhx 1.75 14 0.175
openai/gpt-5.4 1050000 128000 idsrlmhx 2.5 15 0.25 272000:5:22.5:0.5
openai/gpt-5.4-mini 400000 128000 idsrlmhx 0.75 4.5 0.075
openai/gpt-5.4-mini:batch 400000 128000 irlmhx 0.375 2.25 0.0375
openai/gpt-5.4-nano 400000 128000 idsrlmhx 0.2 1.25 0.02
openai/gpt-5.4-nano:batch 400000 128000 irlmhx 0.1 0.625 0.01
openai/gpt-5.4-pro 1050000 128000 idsrmhx 30 180 272000:60:270
openai/gpt-5.4-pro:batch 1050000 128000 irmhx 15 90 272000:30:135
openai/gpt-5.4:batch 1050000 128000 irlmhx 1.25 7.5 0.125 272000:2.5:11.25:0.25
openai/gpt-5.5 1050000 128000 idsrlmhx 5 30 0.5 272000:10:45:1
openai/gpt-5.5-pro 1050000 128000 idsrmhx 30 180 272000:60:270
openai/gpt-5.5-pro:batch 1050000 128000 irmhx 15 90 272000:30:135
openai/gpt-5.5:batch 1050000 128000 irlmhx 2.5 15 0.25 272000:5:22.5:0.5
openai/gpt-5.6-luna 1050000 128000 idsrlmhxa 0.2 1.2 0.02 0.25 272000:0.4:1.8:0.04:0.5
openai/gpt-5.6-luna-pro 1050000 128000 idsrlmhxa 0.2 1.2 0.02 0.25 272000:0.4:1.8:0.04:0.5
openai/gpt-5.6-luna-pro:batch 1050000 128000 irlmhxa 0.1 0.6 0.01 272000:0.2:0.9:0.02
openai/gpt-5.6-luna:batch 1050000 128000 irlmhxa 0.1 0.6 0.01 272000:0.2:0.9:0.02
openai/gpt-5.6-sol 1050000 128000 idsrlmhxa 4 20 0.4 5 272000:8:30:0.8:10
openai/gpt-5.6-sol-pro 1050000 128000 idsrlmhxa 4 20 0.4 5 272000:8:30:0.8:10
openai/gpt-5.6-sol-pro:batch 1050000 128000 irlmhxa 2 10 0.2 2.5 272000:4:15:0.4:5
openai/gpt-5.6-sol:batch 1050000 128000 irlmhxa 2 10 0.2 2.5 272000:4:15:0.4:5
openai/gpt-5.6-terra 1050000 128000 idsrlmhxa 2 12 0.2 2.5 272000:4:18:0.4:5
openai/gpt-5.6-terra-pro 1050000 128000 idsrlmhxa 2 12 0.2 2.5 272000:4:18:0.4:5
openai/gpt-5.6-terra-pro:batch 1050000 128000 irlmhxa 1 6 0.1 272000:2:9:0.2
openai/gpt-5.6-terra:batch 1050000 128000 irlmhxa 1 6 0.1 272000:2:9:0.2
openai/gpt-5:batch 400000 128000 irnlmh 0.625 5 0.0625
openai/gpt-6-astra 1050000 128000 idsrlmhxa 10 50 1 12.5 272000:20:75:2:25
openai/gpt-6-astra-pro 1050000 128000 idsrlmhxa 10 50 1 12.5 272000:20:75:2:25
openai/gpt-6-astra-pro:batch 1050000 128000 irlmhxa 5 25 0.5 6.25 272000:10:37.5:1:12.5
openai/gpt-6-astra:batch 1050000 128000 irlmhxa 5 25 0.5 6.25 272000:10:37.5:1:12.5
openai/gpt-6-luna 1050000 128000 idsrlmhxa 0.1 0.5 0.01 0.125 272000:0.2:0.75:0.02:0.25
openai/gpt-6-luna-pro 1050000 128000 idsrlmhxa 0.1 0.5 0.01 0.125 272000:0.2:0.75:0.02:0.25
openai/gpt-6-luna-pro:batch 1050000 128000 irlmhxa 0.05 0.25 0.005 0.0625 272000:0.1:0.375:0.01:0.125
openai/gpt-6-luna:batch 1050000 128000 irlmhxa 0.05 0.25 0.005 0.0625 272000:0.1:0.375:0.01:0.125
openai/gpt-6-sol 1050000 128000 idsrlmhxa 2 10 0.2 2.5 272000:4:15:0.4:5
openai/gpt-6-sol-pro 1050000 128000 idsrlmhxa 2 10 0.2 2.5 272000:4:15:0.4:5
openai/gpt-6-sol-pro:batch 1050000 128000 irlmhxa 1 5 0.1 1.25 272000:2:7.5:0.2:2.5
openai/gpt-6-sol:batch 1050000 128000 irlmhxa 1 5 0.1 1.25 272000:2:7.5:0.2:2.5
openai/gpt-6.1-sol 1050000 128000 irlmhxa 2 10 0.1 2.5 272000:4:15:0.2:5
openai/gpt-6.1-sol-pro 1050000 128000 irlmhxa 2 10 0.1 2.5 272000:4:15:0.2:5
openai/gpt-6.1-sol-pro:batch 1050000 128000 irlmhxa 1 5 0.05 1.25 272000:2:7.5:0.1:2.5
openai/gpt-6.1-sol:batch 1050000 128000 irlmhxa 1 5 0.05 1.25 272000:2:7.5:0.1:2.5
openai/gpt-6.1-terra 1050000 128000 irlmhxa 1 5 0.05 1.25 272000:2:7.5:0.1:2.5
openai/gpt-6.1-terra-pro 1050000 128000 irlmhxa 1 5 0.05 1.25 272000:2:7.5:0.1:2.5
openai/gpt-6.1-terra-pro:batch 1050000 128000 irlmhxa 0.5 2.5 0.025 0.625 272000:1:3.75:0.05:1.25
openai/gpt-6.1-terra:batch 1050000 128000 irlmhxa 0.5 2.5 0.025 0.625 272000:1:3.75:0.05:1.25
openai/gpt-audio 128000 16384 us 2.5 10
openai/gpt-audio-mini 128000 16384 us 0.6 2.4
openai/gpt-chat-latest 400000 128000 ids 5 30 0.5
openai/gpt-oss-120b 131072 65536 srlmh 0.15 0.6 0.075
openai/gpt-oss-120b:batch 131072 117964 rlmh 0.0296 0.136
openai/gpt-oss-20b 131072 117964 srlmh 0.03 0.13 0.03
openai/gpt-oss-20b:batch 131072 117964 rlmh 0.024 0.112
openai/gpt-oss-safeguard-20b 131072 65536 srnlmh 0.075 0.3 0.0375
openai/o3 200000 100000 idsrnlmh 2 8 0.5
openai/o3-mini:batch 200000 100000 rnlmh 0.55 2.2 0.275
openai/o3-pro 200000 100000 idsrnlmh 20 80
openai/o3:batch 200000 100000 irnlmh 1 4 0.25
openai/o4-mini:batch 200000 100000 irnlmh 0.55 2.2 0.1375
openrouter/auto 2000000 4096 iduvsrnlmh
openrouter/auto-beta 2000000 65536 irnlmh
openrouter/free 200000 4096 isrnlmh
openrouter/fusion 1000000 30000 rnlmh
openrouter/pareto-code 2000000 4096 rnlmh
particle-ai/particle-1 1048576 131072 irnlmhxa 0.05 0.5 0.003
perceptron/perceptron-mk1.5 36864 8192 irnlmh 0.15 1.5
prism-ml/ternary-bonsai-2-27b 262144 32768 isrmx 0.075 0.5 0.0375
prism-ml/ternary-bonsai-2-9b 262144 65536 irnlmh 0.08 0.13 0.04
qwen/qwen-2.5-72b-instruct 32768 16384 s 0.36 0.4
qwen/qwen-2.5-7b-instruct 32768 29491 s 0.1 0.2
qwen/qwen-plus 1000000 32768 s 0.26 0.78 0.052 0.325 256000:0.78:2.34:0.156:0.975
qwen/qwen3-14b 40960 16384 srnlmh 0.12 0.24
qwen/qwen3-235b-a22b-2507 262144 16384 s 0.09 0.55
qwen/qwen3-235b-a22b-thinking-2507 128000 16384 wrnlmh 0.45 3.5
qwen/qwen3-30b-a3b 40960 16384 srnlmh 0.12 0.5
qwen/qwen3-30b-a3b-instruct-2507 262144 235929 s 0.1 0.3 0.1
qwen/qwen3-32b 40960 16384 srnlmh 0.08 0.28
qwen/qwen3-coder 262144 65536 s 0.3 1 0.1
qwen/qwen3-coder-30b-a3b-instruct 262144 235929 s 0.07 0.28
qwen/qwen3-coder-flash 1000000 65536 w 0.195 0.975 0.039 0.24375 32000:0.325:1.625:0.065:0.40625 128000:0.52:2.6:0.104:0.65
qwen/qwen3-coder-next 262144 235929 s 0.12 0.8 0.07
qwen/qwen3-next-80b-a3b-instruct 262144 16384 s 0.09 1.1
qwen/qwen3-vl-235b-a22b-instruct 131072 32768 is 0.21 1.9 0.1
qwen/qwen3-vl-30b-a3b-instruct 262144 16384 is 0.15 0.6
qwen/qwen3-vl-30b-a3b-thinking 262144 235929 isrnlmh 0.29 1
qwen/qwen3-vl-8b-instruct 262144 235929 is 0.25 0.75 0.12
qwen/qwen3.5-122b-a10b 262144 65536 ivsrnlmh 0.26 2.08
qwen/qwen3.5-27b 262144 81920 ivsrnlmh 0.26 2.6
qwen/qwen3.5-35b-a3b 262144 81920 ivsrnlmh 0.14 1 0.05
qwen/qwen3.5-397b-a17b 262144 235929 ivsrnlmh 0.5 3.6 0.3
qwen/qwen3.5-9b 262144 235929 ivsrnlmh 0.17 0.25
qwen/qwen3.5-flash-02-23 1000000 65536 ivsrnlmh 0.065 0.26
qwen/qwen3.5-plus-02-15 1000000 65536 ivsrnlmh 0.26 1.56 256000:0.325:1.95
qwen/qwen3.5-plus-20260420 1000000 65536 ivsrnlmh 0.3 1.8 0 0.375 256000:0.375:2.25:0:0.46875
qwen/qwen3.6-27b 262144 65536 ivsrnlmh 0.45 2.7
qwen/qwen3.6-35b-a3b 262144 235929 ivsrnlmh 0.1 0.9 0.025
qwen/qwen3.6-flash 1000000 65536 ivsrnlmh 0.1875 1.125 0 0.234375 256000:0.75:3:0:0.9375
qwen/qwen3.6-plus 1000000 65536 ivsrnlmh 0.325 1.95 0 0.40625 256000:1.3:3.9:0:1.625
qwen/qwen3.7-flash 1000000 65536 ivwrnlmh 0.03 0.13 0.006 0.038 32000:0.1:0.4:0.02:0.125 256000:0.2:0.8:0.04:0.25
qwen/qwen3.7-max 1000000 131072 srnlmh 1.475 4.425 0.295 1.84375
qwen/qwen3.7-plus 1000000 131072 isrnlmh 0.32 1.28 0.064 0.4 256000:0.96:3.84:0.192:1.2
qwen/qwen3.7-plus:batch 262144 131072 irnlmh 0.23 0.92
qwen/qwen3.8-2.4t-a95b 1000000 131072 srlmx 2 6 0.25
qwen/qwen3.8-27b 262144 235929 ivsrlmx 0.15 1.875 0.0375
qwen/qwen3.8-flash 1000000 131072 ivsrnlmh 0.15 0.47 0.016
qwen/qwen3.8-max-0902 1000000 131072 ivsrnlmhx 2 6 0.25
qwen/qwen3.8-max-prime 1000000 131072 ivsrnlmhx 4 12 0.5
qwen/qwen3.8-omni-flash 1000000 131072 iuvsrnlmh 0.15 0.47 0.016
recursive/flint-v1.0:free 262144 235929 rnlmh 0 0
reflection/beam-1.0-501b-a23b 1048576 131072 rlmhxa 0.25 1 0.05
rekaai/reka-edge 16384 14745 ivs 0.1 0.1
relace/relace-search 256000 128000 w 1 3
sakana/fugu-max 1000000 128000 idsrhxa 2 6 0.25
sakana/fugu-ultra 1000000 128000 isrhxa 5 30 0.5 272000:10:45:1
sakana/fugu-ultra-v2 1000000 128000 idsrhxa 5 30 0.5 272000:10:45:1
sakana/sakana-namazu 262144 65536 idsrh 0.95 4 0.15
stepfun/step-3.5-flash 262144 65536 wrnlmh 0.1 0.3
stepfun/step-3.7-flash 256000 230400 ivsrlmh 0.2 1.15 0.04
stepfun/step-5-preview 1000000 64000 irlmh 1 2.7 0.1
tencent/hy3 262144 128000 srlh 0.132 0.528 0.033
tencent/hy3-preview 262144 235929 wrlh 0.18 0.6 0.06
tencent/hy4-preview 1048576 64000 srlh 0.834 2.501 0.042
thinkingmachines/inkling 524288 471859 iuwrnlmha 1 4.05 0.17
thinkingmachines/inkling-small 524288 262144 iuwrnlmha 0.45 1.2 0.1
thinkingmachines/inkling-small:free 1048576 262144 iuwrnlmha 0 0
thinkingmachines/inkling:free 1048576 262144 iuwrnlmha 0 0
typesafe/jev-router 1000000 65536 irnlmh
unbiased/pareto-26.10 1048576 131072 i 0.8 3.2 0.03
unbiased/pareto-26.9 262144 131072 i 2.5 7.5 0.25
upstage/solar-mini4 524288 131072 srnlmhxa 0.05 0.2 0.005
upstage/solar-pro4 524288 131072 srnlmhxa 0.15 0.6 0.03
x-ai/grok-4.20 2000000 1800000 idsrnlmh 1.25 2.5 0.2 200000:2.5:5:0.4
x-ai/grok-4.3 1000000 900000 idsrlmh 1.25 2.5 0.2 200000:2.5:5:0.4
x-ai/grok-4.3:batch 1000000 900000 irlmh 1 2 0.16 200000:2:4:0.32
x-ai/grok-4.5 500000 450000 idsrlmh 2 6 0.3 200000:4:12:0.6
x-ai/grok-4.6 500000 450000 idsrlmhx 2 6 0.5 200000:4:12:1
x-ai/grok-4.7 500000 450000 idsrlmhx 2 6 0.5 200000:4:12:1
x-ai/grok-build-0.1 256000 230400 idsrnlmh 1 2 0.2 200000:2:4:0.4
xiaomi/mimo-v2.5 1000000 65536 iuvsrnlmh 0.4 2 0.08
xiaomi/mimo-v2.5-pro 262144 235929 srnlmh 0.48 1.8 0.096
xiaomi/mimo-v2.6-flash 1048576 131072 iuvsrnlmh 0.14 0.28 0.0028
xiaomi/mimo-v2.6-pro 1048576 131072 iuvsrnlmh 0.435 0.87 0.0036
xiaomi/mimo-v2.6-pro-ultraspeed 1048576 131072 iuvsrnlmh 4.35 8.7 0.036
xingchen-agi/xing4.0-29b-a4b:free 262144 235929 rnlmh 0 0
z-ai/glm-4.5 131072 98304 wrnlmh 0.6 2.2 0.11
z-ai/glm-4.5-air 131072 98304 wrnlmh 0.13 0.85 0.025
z-ai/glm-4.5v 65536 16384 iwrnlmh 0.6 1.8 0.11
z-ai/glm-4.6 202752 131072 srnlmh 0.5 2 0.1
z-ai/glm-4.6v 131072 32768 ivwrnlmh 0.3 0.9 0.055
z-ai/glm-4.7 202752 131072 srnlmh 0.6 2.2 0.11
z-ai/glm-4.7-flash 131072 117964 srnlmh 0.0605 0.4
z-ai/glm-5 202752 131072 srnlmh 0.6 1.9 0.119
z-ai/glm-5-turbo 202752 131072 wrnlmh 1.2 4 0.24
z-ai/glm-5.1 202752 131072 srnlmh 1.4 4.4 0.26
z-ai/glm-5.2 1048576 943718 srhx 0.006 6.8 0.005
z-ai/glm-5.3 1048576 943718 srlha 0.08 3.6 0.076
z-ai/glm-5.3-flash 1048576 131072 ivsrlha 0.0285 0.0923 0.0285
z-ai/glm-5.3-flash:batch 1048576 131072 irlha 0.05 0.18 0.01
z-ai/glm-5.3-flashx 1048576 131072 ivwrlha 0.37 1.25 0.09
z-ai/glm-5.3-prime 1000000 131072 wrlha 2.8 8.8 0.56
z-ai/glm-5.3:batch 1048576 131072 rlha 0.45 2 0.1
z-ai/glm-5v-turbo 202752 131072 ivwrnlmh 1.2 4 0.24
~anthropic/claude-fable-latest 1000000 128000 idsrlmhxa 10 50 0.25 12.5
~anthropic/claude-haiku-latest 1000000 128000 idsrlmhxa 0.1 0.5 0.01 0.125 100000:0.5:2.5:0.05:0.625
~anthropic/claude-opus-latest 1000000 128000 idsrlmhxa 4 20 0.2 5
~anthropic/claude-sonnet-latest 1000000 128000 idsrlmhxa 2 10 0.1 2.5
~deepseek/deepseek-flash-latest 1048576 943718 isrlha 0.035 0.5 0.005
~deepseek/deepseek-pro-latest 1048576 393216 srlha 0.1035 8 0.1
~deepseek/deepseek-v4-flash-latest 1048576 943718 srlha 0.059 0.3 0.035
~google/gemini-flash-latest 1048576 65536 iduvsrlmh 0.75 3.75 0.075 0.041667
~google/gemini-pro-latest 1048576 943718 iduvsrlmh 2 10 0.1 0.1875
~moonshotai/kimi-latest 1048576 131072 ivsrlha 0.1495 7.15 0.07475
~openai/gpt-astra-latest 1050000 128000 idsrlmhxa 10 50 1 12.5 272000:20:75:2:25
~openai/gpt-luna-latest 1050000 128000 idsrlmhxa 0.1 0.5 0.01 0.125 272000:0.2:0.75:0.02:0.25
~openai/gpt-mini-latest 400000 128000 idsrlmhx 0.75 4.5 0.075
~openai/gpt-sol-latest 1050000 128000 idsrlmhxa 2 10 0.1 2.5 272000:4:15:0.2:5
~openai/gpt-terra-latest 1050000 128000 idsrlmhxa 1 5 0.05 1.25 272000:2:7.5:0.1:2.5
~unbiased/pareto-latest 1048576 131072 i 0.8 3.2 0.03
~x-ai/grok-latest 500000 450000 idsrlmhx 2 6 0.5 200000:4:12:1
~z-ai/glm-flash-latest 1048576 131072 ivsrlha 0.0285 0.0923 0.0285
~z-ai/glm-latest 1048576 943718 srlha 0.0699 1.4 0.0689
`
