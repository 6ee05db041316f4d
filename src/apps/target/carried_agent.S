// Embedded copy of the agent's library, compressed by gzip. Its file: src/CMakeLists.txt.
    .section .rodata.carried_agent, "a", %progbits
    .globl heaptap_carried_agent
    .globl heaptap_carried_agent_end
    .hidden heaptap_carried_agent
    .hidden heaptap_carried_agent_end
heaptap_carried_agent:
    .incbin HEAPTAP_CARRIED_AGENT
heaptap_carried_agent_end:
    .section .note.GNU-stack, "", %progbits
