import { definePlugin } from 'kindred';
import { City } from './city.ts';
import { Country } from './country.ts';
import { CountryController } from './country-controller.ts';
import { Region } from './region.ts';
import { SavedQuery } from './saved-query.ts';
import { citySearch } from './search.ts';

export default definePlugin({
  start({ schemeManager, registerController, registerEndpoint, client }) {
    schemeManager.register(Country);
    schemeManager.register(City);
    schemeManager.register(Region);
    schemeManager.register(SavedQuery);
    registerController(new CountryController(client));
    registerEndpoint(citySearch);
  },
});
