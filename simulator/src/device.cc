// Devices and their functions of the public interface.
#include "device.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include "config.h"
#include "event.h"
#include "stream.h"
#include "text.h"
#include "trace.h"

namespace fl::sim {
namespace {

thread_local int t_device = 0;

struct ProfileHolder {
    std::mutex mutex;
    bool set = false;
    VendorProfile profile;
};

ProfileHolder &TheProfile() {
    static ProfileHolder *const holder = new ProfileHolder;
    return *holder;
}

// Physical ordinals in the order in which they are visible. A list that names something else ends there, with a
// message.
std::vector<int> VisibleDevices(int physical_count) {
    std::vector<int> visible;
    const char *const name = Profile().visible_devices_env;
    const char *const value = name == nullptr ? nullptr : std::getenv(name);
    if (value == nullptr) {
        for (int i = 0; i < physical_count; ++i) { visible.push_back(i); }
        return visible;
    }
    const char *rest = value;
    while (*rest != '\0') {
        char *end = nullptr;
        const long ordinal = std::strtol(rest, &end, 10);
        bool known = end != rest && (*end == ',' || *end == '\0') && ordinal >= 0 && ordinal < physical_count;
        for (const int other : visible) { known = known && other != ordinal; }
        if (!known) {
            WriteAll(STDERR_FILENO,
                     Text("fl-sim: ", name, "='", value, "' names at '", rest, "' no further device of the ",
                          physical_count, " that exist; ", visible.size(), " are visible\n"));
            break;
        }
        visible.push_back(static_cast<int>(ordinal));
        rest = *end == ',' ? end + 1 : end;
    }
    return visible;
}

std::string PciBusId(int physical) {
    char text[32];
    std::snprintf(text, sizeof(text), "0000:%02x:00.0", physical + 0x10);
    return text;
}

} // namespace

void Configure(const VendorProfile &profile) {
    ProfileHolder &holder = TheProfile();
    const std::lock_guard lock(holder.mutex);
    if (!holder.set) {
        holder.profile = profile;
        holder.set = true;
    }
}

const VendorProfile &Profile() {
    ProfileHolder &holder = TheProfile();
    const std::lock_guard lock(holder.mutex);
    holder.set = true;
    return holder.profile;
}

const std::vector<Device *> &Devices() {
    static const std::vector<Device *> *const devices = [] {
        NoteEngineUsed();
        auto *fresh = new std::vector<Device *>;
        const Config &config = GetConfig();
        for (const int physical : VisibleDevices(config.devices)) {
            auto *device = new Device(static_cast<int>(fresh->size()), physical, config.memory_bytes);
            device->default_pool = std::make_shared<Pool>(device->ordinal);
            device->default_pool->internal = true;
            if (AddObject(device->default_pool) != Result::kSuccess) {
                WriteAll(STDERR_FILENO, "fl-sim: no address space for handles\n");
            }
            device->arena.AddPool(device->default_pool);
            device->current_pool = device->default_pool;
            fresh->push_back(device);
        }
        return fresh;
    }();
    return *devices;
}

Device *FindDevice(int ordinal, Result *result) {
    const std::vector<Device *> &devices = Devices();
    if (devices.empty()) {
        *result = Fault(Result::kNoDevice, "there is no device");
        return nullptr;
    }
    if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= devices.size()) {
        *result = Fault(Result::kInvalidDevice, Text("device ", ordinal, " is not in 0..", devices.size() - 1));
        return nullptr;
    }
    *result = Result::kSuccess;
    return devices[static_cast<std::size_t>(ordinal)];
}

Device *CurrentDevice(Result *result) { return FindDevice(t_device, result); }

int ThreadDevice() { return t_device; }

void SetThreadDevice(int ordinal) { t_device = ordinal; }

int OwnerOf(const void *address) {
    for (const Device *device : Devices()) {
        if (device->arena.Owns(address)) {
            return device->ordinal;
        }
    }
    return -1;
}

Result DeviceCount(int *count) {
    if (count == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    *count = static_cast<int>(Devices().size());
    return Result::kSuccess;
}

Result SetDevice(int device) {
    Result result;
    if (FindDevice(device, &result) != nullptr) {
        t_device = device;
    }
    return result;
}

Result GetDevice(int *device) {
    if (device == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    Result result;
    if (CurrentDevice(&result) != nullptr) {
        *device = t_device;
    }
    return result;
}

Result GetDeviceInfo(int device, DeviceInfo *info) {
    Result result;
    const Device *const found = FindDevice(device, &result);
    if (found == nullptr) {
        return result;
    }
    if (info == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    info->name = Profile().device_name;
    info->pci_bus_id = PciBusId(found->physical);
    info->physical = found->physical;
    info->pci_domain = 0;
    info->pci_bus = found->physical + 0x10;
    info->pci_device = 0;
    info->total_memory = GetConfig().memory_bytes;
    info->major = 1;
    info->minor = 0;
    info->multiprocessors = 1;
    return Result::kSuccess;
}

Result DeviceByPciBusId(int *device, const char *pci_bus_id) {
    if (device == nullptr || pci_bus_id == nullptr) {
        return Fault(Result::kInvalidValue, "a pointer is null");
    }
    for (const Device *candidate : Devices()) {
        if (PciBusId(candidate->physical) == pci_bus_id) {
            *device = candidate->ordinal;
            return Result::kSuccess;
        }
    }
    return Fault(Result::kInvalidValue, Text("no device has the PCI bus id '", pci_bus_id, "'"));
}

Result CanAccessPeer(int *can_access, int device, int peer) {
    Result result;
    if (FindDevice(device, &result) == nullptr || FindDevice(peer, &result) == nullptr) {
        return result;
    }
    if (can_access == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    *can_access = device != peer ? 1 : 0;
    return Result::kSuccess;
}

Result DeviceSynchronize() {
    Result result;
    Device *const device = CurrentDevice(&result);
    return device == nullptr ? result : SynchronizeDevice(*device);
}

Result DeviceReset() {
    Result result;
    Device *const device = CurrentDevice(&result);
    if (device == nullptr) {
        return result;
    }
    const Result pending = SynchronizeDevice(*device);
    for (const auto &object : AllObjects()) {
        const bool ours = object->device == device->ordinal;
        if (ours && std::strcmp(object->kind, kStreamKind) == 0) {
            std::static_pointer_cast<Stream>(RemoveObject(object->handle, kStreamKind))->Close();
        } else if (ours && std::strcmp(object->kind, kEventKind) == 0) {
            RemoveObject(object->handle, kEventKind);
        }
    }
    for (const Block &block : device->arena.LiveBlocks()) {
        const Result freed = device->arena.Free(block.base);
        result = result == Result::kSuccess ? freed : result;
    }
    device->arena.ReleaseUnused();
    return result == Result::kSuccess ? pending : result;
}

Result MemInfo(std::size_t *free_bytes, std::size_t *total_bytes) {
    Result result;
    Device *const device = CurrentDevice(&result);
    if (device == nullptr) {
        return result;
    }
    if (free_bytes == nullptr || total_bytes == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    device->arena.MemoryInfo(free_bytes, total_bytes);
    return Result::kSuccess;
}

} // namespace fl::sim
