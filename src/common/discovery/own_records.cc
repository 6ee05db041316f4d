#include "common/discovery/own_records.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/base/whole_number.h"
#include "common/network/machine_name.h"

namespace heaptap::discovery {
namespace {

constexpr size_t kMaxHostBytes = 40;    // of the machine's name
constexpr size_t kMaxNumberBytes = 11;  // behind it all: "-2"

bool is_in_host(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
         letter == '-';
}

// The first part of a machine's name, as a separate name: the machine's own one is announced by others (avahi,
// systemd-resolved), which would give it up when they see other addresses with it. Another heaptap-target there,
// reachable at other addresses, has another name for the same reason.
std::string host_label_of(std::string_view machine, const std::string& addresses) {
  const std::string own = "-heaptap" + (addresses.empty() ? "" : "-" + addresses);
  const size_t room = std::min(kMaxHostBytes, kMaxLabelBytes - kMaxNumberBytes - own.size());
  std::string label(machine.substr(0, std::min(machine.find('.'), room)));
  std::ranges::replace_if(label, [](char letter) { return !is_in_host(letter); }, '-');
  return label.empty() ? own.substr(1) : label + own;
}

bool is_same(const Record& one, const Record& other) {
  return one.type == other.type && one.data == other.data && one.name == other.name;
}

}  // namespace

OwnRecords::OwnRecords(Service service, std::string_view host)
    : service_(std::move(service)), host_label_(host_label_of(host, service_.reach.label())) {
  if (service_.name.empty()) service_.name = network::display_name(host);
  make_names();
}

std::string OwnRecords::instance_label() const {
  const std::string number = instance_number_ == 1 ? "" : " (" + std::to_string(instance_number_) + ")";
  return cut_to(service_.name, kMaxLabelBytes - number.size()) + number;
}

void OwnRecords::make_names() {
  instance_ = Name(instance_label(), service_type(service_.kind));
  host_ = local_name(host_number_ == 1 ? host_label_ : host_label_ + "-" + std::to_string(host_number_));
}

bool OwnRecords::is_name_of_host(const Name& host) const {
  const std::string_view label = host.first_label();
  if (host != local_name(label)) return false;
  const std::string_view number = label.substr(std::min(label.size(), host_label_.size()));
  return label.starts_with(host_label_) &&
         (number.empty() || (number.starts_with('-') && base::is_digits(number.substr(1))));
}

void OwnRecords::take_next_instance(unsigned step) {
  instance_number_ += step;
  make_names();
}

void OwnRecords::take_next_host(unsigned step) {
  host_number_ += step;
  make_names();
}

std::vector<Record> OwnRecords::of(Part part, const Link& link) const {
  switch (part) {
    case Part::kType:
      return {make_pointer(all_types(), service_type(service_.kind), kSharedTtlS)};
    case Part::kInstance:
      return {make_pointer(service_type(service_.kind), instance_, kSharedTtlS)};
    case Part::kPlace:
      return {make_place(instance_, {.port = service_.port, .host = host_}, kHostTtlS)};
    case Part::kText:
      return {{.name = instance_,
               .type = RecordType::kTxt,
               .takes_place = true,
               .ttl_s = kHostTtlS,
               .data = text_data(service_)}};
    case Part::kIpv4:
    case Part::kIpv6:
      break;
  }
  const Family family = part == Part::kIpv4 ? Family::kIpv4 : Family::kIpv6;
  const RecordType type = part == Part::kIpv4 ? RecordType::kA : RecordType::kAaaa;
  std::vector<Record> records;
  for (const LinkAddress& own : link.addresses) {
    if (own.address.family != family || !service_.reach.covers(link, own.address)) continue;
    records.push_back(
        {.name = host_, .type = type, .takes_place = true, .ttl_s = kHostTtlS, .data = own.address.data()});
  }
  return records;
}

std::vector<Record> OwnRecords::of(Parts parts, const Link& link) const {
  std::vector<Record> records;
  for_each_part(parts, [&](Part part) { std::ranges::move(of(part, link), std::back_inserter(records)); });
  return records;
}

Parts OwnRecords::answers_to(const Question& question) const {
  const auto asks = [&](RecordType type) { return question.type == type || question.type == RecordType::kAny; };
  Parts parts;
  const auto add_if = [&](bool is_asked, Part part) { parts = is_asked ? parts.and_those({part}) : parts; };
  add_if(question.name == all_types() && asks(RecordType::kPtr), Part::kType);
  add_if(question.name == service_type(service_.kind) && asks(RecordType::kPtr), Part::kInstance);
  add_if(question.name == instance_ && asks(RecordType::kSrv), Part::kPlace);
  add_if(question.name == instance_ && asks(RecordType::kTxt), Part::kText);
  add_if(question.name == host_ && asks(RecordType::kA), Part::kIpv4);
  add_if(question.name == host_ && asks(RecordType::kAaaa), Part::kIpv6);
  return parts;
}

Parts OwnRecords::known_among(const std::vector<Record>& known, const Link& link) const {
  Parts parts;
  for_each_part(Parts::all(), [&](Part part) {
    const bool are_known = std::ranges::all_of(of(part, link), [&](const Record& own) {
      return std::ranges::any_of(known,
                                 [&](const Record& one) { return is_same(one, own) && one.ttl_s >= own.ttl_s / 2; });
    });
    if (are_known) parts = parts.and_those({part});
  });
  return parts;
}

Parts additions_to(Parts answers) {
  constexpr Parts kAddresses{Part::kIpv4, Part::kIpv6};
  Parts additions;
  if (answers.has(Part::kInstance)) additions = Parts{Part::kPlace, Part::kText}.and_those(kAddresses);
  if (answers.has(Part::kPlace) || answers.has_any(kAddresses)) additions = additions.and_those(kAddresses);
  return additions.without(answers);
}

}  // namespace heaptap::discovery
