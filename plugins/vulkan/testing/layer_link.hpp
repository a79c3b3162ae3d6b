// SPDX-License-Identifier: Apache-2.0
// For layers of the Vulkan loader.
#pragma once

#include <vulkan/vk_layer.h>

namespace etb::vulkan {

// Returns the link to what is below a layer, from the structures that a create function received; NULL if there is none.
template <class Link>
Link* find_link(const void* chain, VkStructureType type) {
  auto* link = static_cast<Link*>(const_cast<void*>(chain));
  while (link != nullptr && (link->sType != type || link->function != VK_LAYER_LINK_INFO))
    link = static_cast<Link*>(const_cast<void*>(link->pNext));
  return link;
}

}  // namespace etb::vulkan
