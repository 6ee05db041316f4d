// API calls of a traced program: turns stops at functions of include/heaptap/heaptap.h into log entries.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "capture/tracer/address_space.h"
#include "capture/tracer/spoken_names.h"
#include "capture/tracer/tracee.h"
#include "common/arch/cpu.h"

namespace heaptap::tracer {

class ApiCalls {
 public:
  // `walk`: returns the number of the call's stack; called only for events with one.
  ApiCalls(AddressSpace& space, Tracee& thread, const arch::RegisterImage& registers, wire::LogStream* stream,
           std::function<uint32_t()> walk)
      : space_(space), thread_(thread), registers_(registers), stream_(stream), walk_(std::move(walk)) {}

  // At the function's first instruction.
  void entered(ApiCall api_call);
  // A pool, or a kind of resource, with the name at that address got this number.
  void made(ApiCall api_call, uint64_t name_address, uint64_t number);

 private:
  [[nodiscard]] uint64_t word(unsigned index) const;
  [[nodiscard]] uint64_t long_word(unsigned index) const;
  [[nodiscard]] std::string text_at(uint64_t address) const;
  void push_tag();
  void pop_tag();
  void say(wire::NoteKind kind, uint64_t address, const std::string& text);
  void record(wire::RecordKind kind, wire::Function function, uint64_t address, uint64_t size_bytes);
  [[nodiscard]] unsigned words_of_a_number() const { return 8 / space_.cpu().word_bytes(); }

  AddressSpace& space_;
  Tracee& thread_;
  const arch::RegisterImage& registers_;
  wire::LogStream* stream_;
  std::function<uint32_t()> walk_;
};

}  // namespace heaptap::tracer
